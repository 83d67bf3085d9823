/* The streams that are due, earliest first: a binary heap that knows each stream's place.
 * Included by truth_server.c behind `struct stream`; nothing else is meant to include it. */

static struct stream **heap;
static int heap_size, heap_room;

static void heap_put(int at, struct stream *s) {
  heap[at] = s;
  s->heap_at = at;
}

static void heap_settle(int at, struct stream *s) {
  while (at > 0 && s->due_ns < heap[(at - 1) / 2]->due_ns) {
    heap_put(at, heap[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  for (;;) {
    int child = 2 * at + 1;
    if (child >= heap_size) break;
    if (child + 1 < heap_size && heap[child + 1]->due_ns < heap[child]->due_ns) child++;
    if (s->due_ns <= heap[child]->due_ns) break;
    heap_put(at, heap[child]);
    at = child;
  }
  heap_put(at, s);
}

static void schedule(struct stream *s, uint64_t due_ns) {
  s->due_ns = due_ns;
  if (s->heap_at < 0) {
    if (heap_size == heap_room) {
      heap_room = heap_room ? heap_room * 2 : 1024;
      heap = realloc(heap, heap_room * sizeof *heap);
    }
    s->heap_at = heap_size++;
  }
  heap_settle(s->heap_at, s);
}

static void unschedule(struct stream *s) {
  if (s->heap_at < 0) return;
  struct stream *last = heap[--heap_size];
  if (last != s) heap_settle(s->heap_at, last);
  s->heap_at = -1;
}

