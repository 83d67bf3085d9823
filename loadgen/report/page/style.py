"""The page's only style sheet. Light and dark by the reader's setting, A4 in print, no font."""

STYLE = """
:root{color-scheme:light dark;--paper:#fff;--panel:#f6f7f9;--ink:#1b1f24;--soft:#57606a;
--rule:#d5dae0;--accent:#0b5cad;--good:#1a7f37;--warn:#8a5a00;--bad:#b3261e;--shade:#0b5cad1a;
--c0:#0b5cad;--c1:#b85c00;--c2:#00796b;--c3:#a3358a;--c4:#7a6a00;--c5:#4b4bb5;--c6:#8a3b2b;
--others:#8b949e}
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--panel:#1d2126;--ink:#e6e9ed;
--soft:#a3adb8;--rule:#39414a;--accent:#6cb2ff;--good:#57c774;--warn:#e0b052;--bad:#ff8a80;
--shade:#6cb2ff26;--c0:#6cb2ff;--c1:#ffa657;--c2:#4fd1c0;--c3:#f0a0dc;--c4:#d8c75a;--c5:#b0b0ff;
--c6:#f0a08c;--others:#7d8590}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.45;font-size:15px;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums}
main{max-width:1280px;margin:0 auto;padding:20px 24px 48px}
h1{font-size:1.5rem;margin:0;line-height:1.25;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:36px 0 10px;padding-top:10px;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:20px 0 6px}
p{margin:6px 0;max-width:100ch}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.92em}
pre{background:var(--panel);padding:10px 12px;border-radius:6px;white-space:pre-wrap;
overflow-wrap:anywhere;margin:8px 0}
.soft{color:var(--soft)}
.skip{position:absolute;left:-9999px}
.skip:focus{left:8px;top:8px;background:var(--paper);padding:8px}
header.top{display:flex;gap:12px 20px;align-items:flex-start;justify-content:space-between;
flex-wrap:wrap}
header.top>div:first-child{flex:1 1 30em;min-width:0}
.facts{color:var(--soft);margin:4px 0 0;max-width:none;overflow-wrap:anywhere}
.verdict{flex:none;text-align:right}
.badge{display:inline-block;font-weight:700;letter-spacing:.04em;border:2px solid;
border-radius:6px;padding:2px 12px;font-size:1.1rem}
.valid{color:var(--good)}.suspect{color:var(--warn)}.invalid{color:var(--bad)}
.verdict p{margin:4px 0 0;color:var(--soft)}
.alarm{border-left:4px solid var(--bad);background:var(--panel);padding:8px 14px;margin:14px 0;
overflow-wrap:anywhere}
.reasons{margin:14px 0 0;padding:0;list-style:none}
.reasons li{border-left:3px solid var(--rule);padding:1px 0 1px 10px;margin:4px 0;max-width:110ch;
overflow-wrap:anywhere}
.six{display:grid;grid-template-columns:repeat(6,1fr);gap:1px;background:var(--rule);
border:1px solid var(--rule);border-radius:8px;overflow:hidden;margin:18px 0 0}
.six>div{background:var(--panel);padding:10px 12px;min-width:0}
.six h3{margin:0;font-size:.82rem;font-weight:600;color:var(--soft)}
.six p{font-size:.8rem;color:var(--soft);margin:2px 0 0}
.six .figure{font-size:1.15rem;font-weight:650;color:var(--ink);margin:1px 0;line-height:1.25;
overflow-wrap:anywhere}
.six .figure.none{color:var(--soft);font-weight:500}
.six .where{color:var(--ink)}
.card{border:1px solid var(--rule);border-radius:8px;padding:10px 14px;margin:12px 0 0}
.card>summary,.card h3{margin:0;font-weight:650}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,500px),1fr));
gap:22px 28px;align-items:start}
figure{margin:0;min-width:0;break-inside:avoid}
figcaption{margin-bottom:4px}
figcaption b{font-weight:650}
figcaption p{margin:1px 0 0;font-size:.87rem;color:var(--soft)}
svg.chart{display:block;width:100%;height:auto;overflow:visible}
svg text{fill:var(--ink);font-size:13px}
svg .tick{fill:var(--soft)}svg .name{fill:var(--soft)}
svg .note{fill:var(--soft);font-size:11px}
svg .middle{text-anchor:middle}svg .end{text-anchor:end}svg .start{text-anchor:start}
svg .strong{font-weight:650}
svg .label{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
svg .grid{stroke:var(--rule);stroke-width:1}svg .axis{stroke:var(--soft);stroke-width:1}
svg .vertical{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 4}
svg .span{fill:var(--shade)}
.series .line{fill:none;stroke:var(--hue);stroke-width:2;stroke-linejoin:round}
.series .dot{fill:var(--hue);stroke:var(--paper);stroke-width:1}
.series .whisker{stroke:var(--hue);stroke-width:1.5}
.c0{--hue:var(--c0)}.c1{--hue:var(--c1)}.c2{--hue:var(--c2)}.c3{--hue:var(--c3)}
.c4{--hue:var(--c4)}.c5{--hue:var(--c5)}.c6{--hue:var(--c6)}.others{--hue:var(--others)}
.d1 .line{stroke-dasharray:7 4}.d2 .line{stroke-dasharray:2 3}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 16px;margin:4px 0;padding:0;
font-size:.87rem}
.key{width:28px;height:14px;vertical-align:-2px;margin-right:5px}
details{margin:4px 0}
summary{cursor:pointer;color:var(--accent);font-size:.87rem}
.scroll{overflow-x:auto;margin:8px 0;max-width:100%}
table{border-collapse:collapse;font-size:.88rem}
caption{text-align:left;color:var(--soft);padding-bottom:4px;caption-side:top}
th,td{padding:3px 10px;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top}
th{font-weight:600}tbody th{font-weight:500;white-space:nowrap}
.n{text-align:right;white-space:nowrap}
.groups th{text-align:center;border-bottom:0;color:var(--soft);padding-bottom:0}
.findings{list-style:none;padding:0;margin:0}
.findings li{padding:8px 0;border-bottom:1px solid var(--rule);overflow-wrap:anywhere}
.findings p{max-width:110ch;margin:2px 0}
.severity{font-weight:700;margin-right:8px}
.severity.fatal{color:var(--bad)}.severity.doubt{color:var(--warn)}.severity.note{color:var(--soft)}
.status{white-space:nowrap}
.contradicted{color:var(--bad)}.missing{color:var(--warn)}
footer{margin-top:36px;border-top:1px solid var(--rule);padding-top:10px;color:var(--soft);
font-size:.87rem}
@media (max-width:1000px){.six{grid-template-columns:repeat(3,1fr)}}
@media (max-width:620px){main{padding:14px 14px 40px}.six{grid-template-columns:repeat(2,1fr)}
.verdict{text-align:left}svg text{font-size:19px}svg .note{font-size:16px}
svg.key text{font-size:13px}table{font-size:.82rem}th,td{padding:3px 7px}}
@media print{@page{size:A4;margin:14mm 12mm}:root{color-scheme:light}
body{font-size:10pt;background:#fff}main{padding:0;max-width:none}
figure details,.skip{display:none}.scroll{overflow:visible}
.six{grid-template-columns:repeat(3,1fr)}
.figures{grid-template-columns:repeat(2,1fr);gap:14px}
table{font-size:7.5pt}th,td{padding:2px 4px}h2{break-after:avoid}tr{break-inside:avoid}}
@media print and (prefers-color-scheme:dark){:root{--paper:#fff;--panel:#f6f7f9;--ink:#1b1f24;
--soft:#57606a;--rule:#d5dae0;--accent:#0b5cad;--good:#1a7f37;--warn:#8a5a00;--bad:#b3261e;
--shade:#0b5cad1a;--c0:#0b5cad;--c1:#b85c00;--c2:#00796b;--c3:#a3358a;--c4:#7a6a00;--c5:#4b4bb5;
--c6:#8a3b2b;--others:#8b949e}}
@media (forced-colors:active){.series .line,.series .whisker{stroke:CanvasText}}
"""
