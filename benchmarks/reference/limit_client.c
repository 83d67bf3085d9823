/* The least that a client must do: send, read, find the events, stamp each. The limit to compare with.
 *
 *   limit_client --port N --streams C --requests N --tokens M --ttft-ms X --itl-ms X [--stamps FILE]
 *
 * One thread, one epoll, kernel receive stamps, no JSON: an event's text is found by search.
 * Prints one JSON object. FILE gets a line a request: `id sent_ns first_ns last_ns events`.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES (1 << 18)
#define CARRY_BYTES 4096 /* the longest event that may be cut by a read */

struct request {
  uint64_t sent_ns, n_stamps;
  uint64_t *stamps_ns;
};

struct stream {
  int fd;
  struct request *request; /* NULL once all are sent */
  char carry[CARRY_BYTES];
  size_t carried;
};

static int port, streams = 1, total = 1, tokens = 128, next, finished, poller;
static double ttft_ms, itl_ms;
static const char *stamps_file;
static struct request *requests;
static uint64_t offset_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC */

static uint64_t now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

static double cpu_s(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void send_next(struct stream *s) {
  s->request = NULL;
  s->carried = 0;
  if (next == total) return;
  char body[512], whole[1024];
  int body_size = sprintf(body,
                          "{\"model\":\"truth\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],"
                          "\"max_tokens\":%d,\"stream\":true,\"stream_options\":{\"include_usage\":true},"
                          "\"ttft_ms\":%g,\"itl_ms\":%g}",
                          tokens, ttft_ms, itl_ms);
  int size = sprintf(whole,
                     "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
                     "content-length: %d\r\nx-request-id: limit-%d\r\n\r\n%s",
                     body_size, next, body);
  s->request = &requests[next++];
  s->request->stamps_ns = malloc(tokens * sizeof(uint64_t));
  s->request->sent_ns = now_ns(CLOCK_MONOTONIC);
  if (send(s->fd, whole, size, MSG_NOSIGNAL) != size) {
    perror("send");
    exit(1);
  }
}

/* Stamps the events in [at, at + size); returns whether the answer has ended. */
static int take(struct stream *s, char *at, size_t size, uint64_t at_ns) {
  char *end = at + size, *blank;
  while ((blank = memmem(at, end - at, "\n\n", 2))) {
    char *event = memmem(at, blank - at, "data: ", 6);
    if (event && event[6] == '[') return 1;
    char *text = event ? memmem(event, blank - event, "\"content\":\"", 11) : NULL;
    if (text && text[11] != '"' && s->request->n_stamps < (uint64_t)tokens)
      s->request->stamps_ns[s->request->n_stamps++] = at_ns;
    at = blank + 2;
  }
  s->carried = end - at < CARRY_BYTES ? end - at : 0;
  memcpy(s->carry, at, s->carried);
  return 0;
}

static void read_from(struct stream *s) {
  static char buffer[READ_BYTES];
  char control[64];
  memcpy(buffer, s->carry, s->carried);
  struct iovec where = {.iov_base = buffer + s->carried, .iov_len = sizeof buffer - s->carried};
  struct msghdr message = {
      .msg_iov = &where, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t size = recvmsg(s->fd, &message, MSG_DONTWAIT);
  if (size < 0 && errno == EAGAIN) return;
  if (size <= 0) {
    fprintf(stderr, "connection lost\n");
    exit(1);
  }
  uint64_t at_ns = now_ns(CLOCK_MONOTONIC);
  struct cmsghdr *stamp = CMSG_FIRSTHDR(&message);
  if (stamp && stamp->cmsg_type == SO_TIMESTAMPNS) {
    struct timespec t;
    memcpy(&t, CMSG_DATA(stamp), sizeof t);
    at_ns = (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec - offset_ns;
  }
  if (s->request && take(s, buffer, s->carried + size, at_ns)) {
    finished++;
    send_next(s);
  }
}

static void open_streams(struct stream *all) {
  struct sockaddr_in where = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int one = 1;
  for (int i = 0; i < streams; i++) {
    struct stream *s = &all[i];
    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(s->fd, (struct sockaddr *)&where, sizeof where)) {
      perror("connect");
      exit(1);
    }
    setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = s};
    epoll_ctl(poller, EPOLL_CTL_ADD, s->fd, &e);
  }
}

static uint64_t write_stamps(void) {
  FILE *file = stamps_file ? fopen(stamps_file, "w") : NULL;
  uint64_t chunks = 0;
  for (int i = 0; i < total; i++) {
    struct request *r = &requests[i];
    chunks += r->n_stamps;
    if (!file || !r->n_stamps) continue;
    fprintf(file, "limit-%d %llu %llu %llu %llu\n", i, (unsigned long long)r->sent_ns,
            (unsigned long long)r->stamps_ns[0], (unsigned long long)r->stamps_ns[r->n_stamps - 1],
            (unsigned long long)r->n_stamps);
  }
  if (file) fclose(file);
  return chunks;
}

int main(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const char *value = argv[i + 1];
    if (!strcmp(argv[i], "--port")) port = atoi(value);
    else if (!strcmp(argv[i], "--streams")) streams = atoi(value);
    else if (!strcmp(argv[i], "--requests")) total = atoi(value);
    else if (!strcmp(argv[i], "--tokens")) tokens = atoi(value);
    else if (!strcmp(argv[i], "--ttft-ms")) ttft_ms = atof(value);
    else if (!strcmp(argv[i], "--itl-ms")) itl_ms = atof(value);
    else if (!strcmp(argv[i], "--stamps")) stamps_file = value;
  }
  requests = calloc(total, sizeof *requests);
  struct stream *all = calloc(streams, sizeof *all);
  struct epoll_event ready[256];
  poller = epoll_create1(0);
  open_streams(all);
  uint64_t mono_ns = now_ns(CLOCK_MONOTONIC);
  offset_ns = now_ns(CLOCK_REALTIME) - mono_ns;
  double cpu_before_s = cpu_s();
  uint64_t started_ns = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < streams; i++) send_next(&all[i]);
  while (finished < total) {
    int n = epoll_wait(poller, ready, 256, 10000);
    if (n == 0) return fprintf(stderr, "nothing came for 10 s\n"), 1;
    for (int i = 0; i < n; i++) read_from(ready[i].data.ptr);
  }
  double wall_s = (now_ns(CLOCK_MONOTONIC) - started_ns) / 1e9, job_s = cpu_s() - cpu_before_s;
  printf("{\"chunks\":%llu,\"wall_s\":%.6f,\"cpu_s\":%.6f}\n", (unsigned long long)write_stamps(), wall_s, job_s);
  return 0;
}
