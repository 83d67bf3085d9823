/* A streaming completions server that logs when it really wrote each event.
 *
 *   truth_server --port N [--coalesce N] [--ttft-ms X] [--itl-ms X]
 *
 * One thread on 127.0.0.1. `POST` to any path answers with an OpenAI stream that keeps the timetable
 * in the body (`ttft_ms`, `itl_ms`), or else the options', one token an event, `max_tokens` of them.
 * Where `itl_ms` is 0 it writes as fast as the socket takes it, `--coalesce` events a write. Other
 * routes: `GET /truth` the log, `GET /truth/reset` forgets finished requests.
 *
 * The log's layout is that of `loadgen/mock/truthdump.py`. All instants are CLOCK_MONOTONIC ns.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1e6
#define SPIN_NS 40000       /* an idle core needs longer than this to wake up, so the last bit is spun */
#define WRITES_A_TURN 64    /* before the sockets are looked at again */
#define FIREHOSE_EVENTS 16  /* events of one stream a turn where there is no timetable */
#define READ_BYTES (1 << 20)

#include "truth_log.h"

struct stream {
  int fd;
  uint64_t number, accepted_ns, first_byte_ns, answered;
  struct bytes in, unsent;
  struct event *unsent_event; /* completed when `unsent` has gone */
  struct logged *log;         /* NULL between requests */
  uint64_t start_ns, due_ns;
  double ttft_ms, itl_ms;
  uint32_t tokens, sent_tokens;
  enum kind next;
  int wants_usage, heap_at;
  char prefix[256];
  size_t prefix_size;
};

#include "due_heap.h"

static int poller, port, coalesce = 1;
static double usual_ttft_ms, usual_itl_ms; /* where a body names none */
static uint64_t n_connections, n_open;
static volatile sig_atomic_t stopping;

static void watch(struct stream *s, int how, uint32_t events) {
  struct epoll_event e = {.events = events, .data.ptr = s};
  epoll_ctl(poller, how, s->fd, &e);
}

static void hang_up(struct stream *s) {
  if (s->log) s->log->head.flags |= CLIENT_LEFT;
  unschedule(s);
  close(s->fd);
  s->fd = -1;
  n_open--;
}

/* Hands bytes to the kernel and keeps what it does not take; `e` gets the instants. */
static void put(struct stream *s, const char *at, size_t size, struct event *e) {
  uint64_t before_ns = mono_ns();
  ssize_t sent = s->unsent.size ? 0 : send(s->fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  uint64_t after_ns = mono_ns();
  if (sent < 0 && errno != EAGAIN) {
    hang_up(s);
    return;
  }
  if (sent < 0) sent = 0;
  if (e) {
    e->after_ns = after_ns;
    e->took_ns = (uint32_t)(after_ns - before_ns);
    e->n_bytes = (uint32_t)size;
  }
  if ((size_t)sent == size) return;
  append(&s->unsent, at + sent, size - sent);
  watch(s, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
  if (e) {
    e->was_full = 1;
    s->unsent_event = e;
  }
}

static struct event *log_event(struct stream *s, enum kind kind, uint32_t n_tok, uint64_t due_ns) {
  struct logged *log = s->log;
  n_events += kind == CONTENT ? n_tok : 1;
  if (log->head.n_events == log->room) return NULL;
  struct event *e = &log->events[log->head.n_events++];
  int64_t late_ns = (int64_t)(mono_ns() - due_ns);
  *e = (struct event){.kind = kind, .n_tok = n_tok, .late_ns = late_ns > 0 ? (int32_t)late_ns : 0};
  return e;
}

/* One HTTP chunk with one event in it; returns its length. */
static size_t render(struct stream *s, char *to, const char *choices) {
  size_t size = 6 + s->prefix_size + strlen(choices) + 2;
  return sprintf(to, "%zx\r\ndata: %s%s\n\n\r\n", size, s->prefix, choices);
}

static size_t render_content(struct stream *s, char *to) {
  static const char *words[] = {" one", " two", " three", " four", " five", " six", " seven", " eight"};
  char choices[160];
  sprintf(choices,
          "[{\"index\":0,\"delta\":{\"content\":\"%s\"},\"logprobs\":null,\"finish_reason\":null}]}",
          words[s->sent_tokens++ & 7]);
  return render(s, to, choices);
}

static void write_content(struct stream *s) {
  static char buffer[1 << 16];
  int at_once = s->itl_ms > 0 ? 1 : coalesce;
  uint32_t n_tok = 0;
  size_t size = 0;
  while (at_once-- > 0 && s->sent_tokens < s->tokens && size < sizeof buffer - 1024) {
    size += render_content(s, buffer + size);
    n_tok++;
  }
  put(s, buffer, size, log_event(s, CONTENT, n_tok, s->due_ns));
  if (s->sent_tokens == s->tokens) s->next = FINISH;
}

static void write_other(struct stream *s) {
  char buffer[512], choices[160];
  enum kind kind = s->next;
  if (kind == ROLE) {
    strcpy(choices, "[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
                    "\"logprobs\":null,\"finish_reason\":null}]}");
    s->next = CONTENT;
  } else if (kind == FINISH) {
    strcpy(choices, "[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"length\"}]}");
    s->next = s->wants_usage ? USAGE : DONE;
  } else {
    unsigned prompt = s->log->head.body_bytes / 5 + 1;
    sprintf(choices, "[],\"usage\":{\"prompt_tokens\":%u,\"total_tokens\":%u,\"completion_tokens\":%u}}",
            prompt, prompt + s->tokens, s->tokens);
    s->next = DONE;
  }
  put(s, buffer, render(s, buffer, choices), log_event(s, kind, 0, s->due_ns));
}

static void write_done(struct stream *s) {
  static const char end[] = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
  struct event *e = log_event(s, DONE, 0, s->due_ns);
  s->log->head.flags |= IS_DONE;
  s->log = NULL;
  put(s, end, sizeof end - 1, e);
}

/* Writes what is due on the stream: one content event, and with the last one the end. */
static void write_due(struct stream *s) {
  int left = s->itl_ms > 0 ? 1 : FIREHOSE_EVENTS;
  unschedule(s);
  while (s->fd >= 0 && s->log && !s->unsent.size) {
    if (s->next == CONTENT) {
      if (left-- == 0) {
        double after_ms = s->ttft_ms + s->itl_ms * s->sent_tokens;
        schedule(s, s->itl_ms > 0 ? s->start_ns + (uint64_t)(after_ms * NS_PER_MS) : mono_ns());
        return;
      }
      write_content(s);
    } else if (s->next == DONE) {
      write_done(s);
    } else {
      write_other(s);
    }
  }
}

static void write_unsent(struct stream *s) {
  ssize_t sent = send(s->fd, s->unsent.at, s->unsent.size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (errno != EAGAIN) hang_up(s);
    return;
  }
  drop_front(&s->unsent, sent);
  if (s->unsent.size) return;
  if (s->unsent_event) s->unsent_event->after_ns = mono_ns();
  s->unsent_event = NULL;
  watch(s, EPOLL_CTL_MOD, EPOLLIN);
  if (s->log) schedule(s, mono_ns());
}

/* Requests. Members are searched for, not parsed: the benchmarks' prompts hold no such names. */

static const char *value_of(const char *body, size_t size, const char *name) {
  const char *at = memmem(body, size, name, strlen(name));
  if (!at) return NULL;
  at += strlen(name);
  while (at < body + size && (*at == ' ' || *at == ':')) at++;
  return at < body + size ? at : NULL;
}

static double number_of(const char *body, size_t size, const char *name, double otherwise) {
  const char *value = value_of(body, size, name);
  return value ? strtod(value, NULL) : otherwise;
}

static const char *header_of(const char *head, size_t size, const char *name) {
  size_t length = strlen(name);
  const char *line = memchr(head, '\n', size);
  while (line && line + length + 2 < head + size) {
    line++;
    if (!strncasecmp(line, name, length) && line[length] == ':') {
      line += length + 1;
      return line + strspn(line, " ");
    }
    line = memchr(line, '\n', head + size - line);
  }
  return NULL;
}

static void answer_whole(struct stream *s, const char *type, const char *body, size_t size) {
  char head[160];
  int length = sprintf(head, "HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %zu\r\n\r\n", type, size);
  struct bytes whole = {0};
  append(&whole, head, length);
  append(&whole, body, size);
  put(s, whole.at, whole.size, NULL);
  free(whole.at);
}

static void answer_truth(struct stream *s) {
  struct bytes dump = {0};
  dump_log(&dump);
  answer_whole(s, "application/octet-stream", dump.at, dump.size);
  free(dump.at);
}

static struct logged *log_request(struct stream *s, const char *head, size_t head_size, size_t body_size) {
  struct logged *log = new_logged();
  log->head.accepted_ns = s->accepted_ns;
  log->head.first_byte_ns = s->first_byte_ns;
  log->head.received_ns = mono_ns();
  log->head.connection = s->number;
  log->head.body_bytes = (uint32_t)body_size;
  log->head.place = (uint32_t)++s->answered;
  log->head.flags = IS_STREAM | IS_CHAT;
  const char *id = header_of(head, head_size, "x-request-id");
  if (id) memcpy(log->head.id, id, strcspn(id, "\r") < 63 ? strcspn(id, "\r") : 63);
  return log;
}

static void begin_stream(struct stream *s, const char *head, size_t head_size, const char *body, size_t body_size) {
  static const char ok[] = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                           "transfer-encoding: chunked\r\n\r\n";
  s->log = log_request(s, head, head_size, body_size);
  s->ttft_ms = number_of(body, body_size, "\"ttft_ms\"", usual_ttft_ms);
  s->itl_ms = number_of(body, body_size, "\"itl_ms\"", usual_itl_ms);
  double tokens = number_of(body, body_size, "\"max_tokens\"", 0);
  if (tokens < 1) tokens = number_of(body, body_size, "\"max_completion_tokens\"", 128);
  s->tokens = (uint32_t)tokens;
  s->wants_usage = value_of(body, body_size, "\"include_usage\"") != NULL;
  s->sent_tokens = 0;
  s->next = ROLE;
  s->log->room = s->tokens + 8;
  s->log->events = calloc(s->log->room, sizeof *s->log->events);
  s->prefix_size = sprintf(s->prefix,
                           "{\"id\":\"chatcmpl-%llu-%llu\",\"object\":\"chat.completion.chunk\","
                           "\"created\":1700000000,\"model\":\"truth\",\"choices\":",
                           (unsigned long long)s->number, (unsigned long long)s->answered);
  put(s, ok, sizeof ok - 1, NULL);
  s->start_ns = s->log->head.received_ns;
  if (s->fd >= 0) schedule(s, s->start_ns + (uint64_t)(s->ttft_ms * NS_PER_MS));
}

static void answer(struct stream *s, const char *head, size_t head_size, const char *body, size_t body_size) {
  if (*head == 'P') {
    begin_stream(s, head, head_size, body, body_size);
  } else if (!strncmp(head, "GET /truth/reset", 16)) {
    forget_finished();
    answer_whole(s, "text/plain", "ok\n", 3);
  } else if (!strncmp(head, "GET /truth", 10)) {
    answer_truth(s);
  } else if (!strncmp(head, "GET /v1/models", 14)) {
    static const char models[] = "{\"object\":\"list\",\"data\":[{\"id\":\"truth\",\"object\":\"model\"}]}";
    answer_whole(s, "application/json", models, sizeof models - 1);
  } else {
    answer_whole(s, "application/json", "{}", 2);
  }
}

/* Answers the request in `in` once it is whole; what follows it stays there. */
static void take_request(struct stream *s) {
  char *end = memmem(s->in.at, s->in.size < 65536 ? s->in.size : 65536, "\r\n\r\n", 4);
  if (!end) return;
  size_t head_size = end + 4 - s->in.at;
  const char *length = header_of(s->in.at, head_size, "content-length");
  size_t body_size = length ? strtoull(length, NULL, 10) : 0;
  if (s->in.size < head_size + body_size || s->log) return;
  answer(s, s->in.at, head_size, s->in.at + head_size, body_size);
  drop_front(&s->in, head_size + body_size);
  s->first_byte_ns = 0;
}

static void read_from(struct stream *s) {
  static char buffer[READ_BYTES];
  ssize_t size = recv(s->fd, buffer, sizeof buffer - 1, MSG_DONTWAIT);
  if (size > 0) {
    if (!s->first_byte_ns) s->first_byte_ns = mono_ns();
    append(&s->in, buffer, size);
    take_request(s);
  } else if (size == 0 || errno != EAGAIN) {
    hang_up(s);
  }
}

static void accept_all(int listener) {
  int fd, one = 1;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    struct stream *s = calloc(1, sizeof *s);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    *s = (struct stream){.fd = fd, .heap_at = -1, .number = ++n_connections, .accepted_ns = mono_ns()};
    n_open++;
    watch(s, EPOLL_CTL_ADD, EPOLLIN);
  }
}

static void serve(int listener) {
  struct epoll_event ready[512];
  while (!stopping) {
    struct timespec wait, *timeout = NULL;
    if (heap_size) {
      uint64_t at_ns = mono_ns() + SPIN_NS;
      uint64_t left_ns = heap[0]->due_ns > at_ns ? heap[0]->due_ns - at_ns : 0;
      wait = (struct timespec){.tv_sec = left_ns / 1000000000u, .tv_nsec = left_ns % 1000000000u};
      timeout = &wait;
    }
    int n = epoll_pwait2(poller, ready, 512, timeout, NULL);
    for (int i = 0; i < n; i++) {
      struct stream *s = ready[i].data.ptr;
      if (!s) {
        accept_all(listener);
        continue;
      }
      if (ready[i].events & EPOLLOUT) write_unsent(s);
      if (s->fd >= 0 && ready[i].events & ~(uint32_t)EPOLLOUT) read_from(s);
      if (s->fd < 0) {
        free(s->in.at);
        free(s->unsent.at);
        free(s);
      }
    }
    for (int writes = 0; heap_size && writes < WRITES_A_TURN; writes++) {
      uint64_t at_ns = mono_ns();
      if (heap[0]->due_ns > at_ns + SPIN_NS) break;
      while (heap[0]->due_ns > mono_ns()) continue;
      write_due(heap[0]);
    }
  }
}

static void stop(int number) {
  (void)number;
  stopping = 1;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--port") && i + 1 < argc) port = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--coalesce") && i + 1 < argc) coalesce = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--ttft-ms") && i + 1 < argc) usual_ttft_ms = atof(argv[++i]);
    else if (!strcmp(argv[i], "--itl-ms") && i + 1 < argc) usual_itl_ms = atof(argv[++i]);
    else return fprintf(stderr, "usage: truth_server --port N [--coalesce N] [--ttft-ms X] [--itl-ms X]\n"), 2;
  }
  signal(SIGPIPE, SIG_IGN);
  sigaction(SIGTERM, &(struct sigaction){.sa_handler = stop}, NULL);
  prctl(PR_SET_TIMERSLACK, 1);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in where = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(listener, (struct sockaddr *)&where, sizeof where) || listen(listener, 4096)) {
    perror("truth_server");
    return 1;
  }
  poller = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &e);
  serve(listener);
  return 0;
}
