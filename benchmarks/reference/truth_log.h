/* The log of truth_server.c: what came, what was written and when, and the log as bytes.
 * `struct event` and `struct request` are the records of `loadgen/mock/truthdump.py`. */

enum kind { ROLE = 1, CONTENT, FINISH, USAGE, DONE };
enum flag { IS_DONE = 1, CLIENT_LEFT = 2, IS_STREAM = 4, IS_CHAT = 8 };

struct event {
  uint64_t after_ns;
  uint32_t took_ns;
  int32_t late_ns;
  uint16_t n_tok;
  uint8_t kind, was_full;
  uint32_t n_bytes;
};

struct request {
  uint64_t accepted_ns, first_byte_ns, received_ns, connection;
  uint32_t n_events, body_bytes, place, flags;
  char id[64];
};

struct logged {
  struct request head;
  struct event *events;
  uint32_t room;
};

struct bytes {
  char *at;
  size_t size, room;
};

static struct logged **requests;
static size_t n_requests, requests_room;
static uint64_t n_events;

static uint64_t now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

static uint64_t mono_ns(void) { return now_ns(CLOCK_MONOTONIC); }

static void append(struct bytes *to, const char *from, size_t size) {
  if (to->size + size > to->room) {
    to->room = (to->size + size) * 2;
    to->at = realloc(to->at, to->room);
  }
  memcpy(to->at + to->size, from, size);
  to->size += size;
}

static void drop_front(struct bytes *of, size_t size) {
  of->size -= size;
  memmove(of->at, of->at + size, of->size);
}

static struct logged *new_logged(void) {
  if (n_requests == requests_room) {
    requests_room = requests_room ? requests_room * 2 : 4096;
    requests = realloc(requests, requests_room * sizeof *requests);
  }
  return requests[n_requests++] = calloc(1, sizeof(struct logged));
}

static void dump_log(struct bytes *to) {
  uint64_t head[4] = {n_requests, mono_ns(), now_ns(CLOCK_REALTIME), n_events};
  append(to, "TRUTH001", 8);
  append(to, (char *)head, sizeof head);
  for (size_t i = 0; i < n_requests; i++) {
    append(to, (char *)&requests[i]->head, sizeof requests[i]->head);
    append(to, (char *)requests[i]->events, requests[i]->head.n_events * sizeof(struct event));
  }
}

static void forget_finished(void) {
  size_t kept = 0;
  for (size_t i = 0; i < n_requests; i++) {
    if (!(requests[i]->head.flags & (IS_DONE | CLIENT_LEFT))) {
      requests[kept++] = requests[i];
      continue;
    }
    free(requests[i]->events);
    free(requests[i]);
  }
  n_requests = kept;
  n_events = 0;
}
