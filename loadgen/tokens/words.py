"""Common English words, ASCII, lower case: the stuff that synthetic prompts are made of."""

_TEXT = """
able about above across act add after again age ago air all almost alone along also always among
and animal another answer any appear apple area arm around art ask away baby back ball bank bar
base bear beautiful bed before began begin behind being believe below beside best better between
big bird black blue board boat body book born both bottom box boy bread break bright bring brother
brown build building business busy buy call came camp can car care carry case cat catch cause cell
center century chair chance change character charge check chief child children choose church
circle city class clean clear climb close clothes cloud coast coat cold collect color come common
company complete contain control cook cool copy corn corner correct cost could count country
course cover create cross crowd cry culture cut dance danger dark daughter day deal dear decide
deep degree design desk develop dinner direct discover distance divide doctor does dog done door
double down draw dream dress drink drive drop dry during each ear early earth ease east easy eat
edge effect egg eight either electric element else empty end energy engine enough enter equal even
evening event ever every exact example except exercise expect experience explain eye face fact
fair fall family famous far farm fast father favor fear feed feel feet field fight figure fill
film final find fine finger finish fire first fish fit five flat floor flow flower fly follow food
foot force foreign forest form forward found four free fresh friend from front fruit full fun game
garden gas gather gave general gentle get girl give glad glass go gold gone good got govern grand
grass gray great green grew ground group grow guess guide hair half hand happen happy hard has hat
have head hear heart heat heavy held help her here high hill him his history hit hold hole home
hope horse hot hotel hour house how huge human hundred hunt hurry ice idea image imagine inch
include indeed industry insect inside instead interest iron island job join joy jump just keep
kept key kind king knew know lady lake land language large last late laugh law lay lead learn
least leave led left leg length less let letter level lie life lift light like line list listen
little live local long look lost lot loud love low machine made mail main make man many map mark
market mass master match material matter may mean measure meat meet member men metal method middle
might mile milk million mind minute miss modern moment money month moon more morning most mother
motion mountain mouth move much music must name nation nature near neck need never new news next
night nine noise none noon north nose note nothing notice noun now number object observe ocean off
offer office often oil old once one only open opposite orange order other our out over own page
pain paint pair paper parent park part party pass past path pattern pay people perhaps period
person picture piece place plain plan plane planet plant play please plural poem point poor port
pose position possible post pound power practice present press pretty print problem process
produce product proper protect prove provide public pull push put question quick quiet quite race
radio rain raise ran range rather reach read ready real reason receive record red region remember
repeat reply report require rest result rich ride right ring rise river road rock roll room root
rope rose round row rule run safe said sail salt same sand sat save saw say scale school science
score sea search season seat second section see seed seem select self sell send sense sent
separate serve set settle seven several shape share sharp she sheet shell shine ship shoe shop
shore short should shoulder show side sight sign silent silver similar simple since sing single
sister sit six size skill skin sky sleep slip slow small smell smile smooth snow social soft soil
soldier solution some son song soon sound source south space speak special speech speed spend
spoke spot spread spring square stage stand star start state station stay step still stock stone
stood stop store storm story straight strange stream street string strong student study style
subject success such sudden sugar suit summer sun supply support sure surface surprise swim system
table tail take talk tall teach team tell ten term test than thank that their them then there
these they thick thin thing think third this those though thought thousand three through throw
thus tie time tiny tire today together told tone too took tool top total touch toward town track
trade train travel tree triangle trip trouble truck true try tube turn twenty two type under unit
until upon use usual valley value vary verb very view village visit voice vowel wait walk wall
want warm wash watch water wave way wear weather week weight well went were west what wheel when
where which while white who whole whose why wide wife wild will win wind window winter wire wish
with woman women wonder wood word work world would write written wrong yard year yellow yes yet
you young your
"""

WORDS: tuple[str, ...] = tuple(_TEXT.split())
"""Sorted and distinct. A change here changes every synthetic prompt: it needs a changelog line."""
