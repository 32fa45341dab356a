package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
)

// SendTimeout bounds the sending of one message.
const SendTimeout = 5 * time.Second

const (
	maxSending = 16   // messages that are being sent
	maxQueue   = 1024 // messages that wait
)

// Queue runs functions, and begins them in the order in which they were added. Beyond its bounds it drops the oldest. It has
// goroutines only while there is something to run. Once the client is closed, all are dropped.
type Queue struct {
	life     *Lifecycle
	log      *slog.Logger
	group    *sync.WaitGroup // of the goroutines
	workers  int             // goroutines
	limit    int             // waiting functions
	maxBytes int             // of memory that they keep
	overflow string          // logged when some are dropped

	mu       sync.Mutex
	queue    []queued
	bytes    int
	running  int // goroutines
	dropped  dropCount
	finished chan struct{} // closed when the last function has ended; nil while functions are accepted
}

type queued struct {
	run  func()
	size int
}

// NewCallbackQueue returns a queue for callbacks of the host, which run one at a time. At most limit wait, and keep at most
// maxBytes in memory. A single callback is kept regardless of its size.
func NewCallbackQueue(life *Lifecycle, limit, maxBytes int, log *slog.Logger) *Queue {
	return &Queue{
		life:     life,
		log:      log,
		group:    &life.host,
		workers:  1,
		limit:    limit,
		maxBytes: maxBytes,
		overflow: "dropped notifications: the observer is slower than the server",
	}
}

// NewSendQueue returns a queue for messages for which no caller waits: notices of cancellation, answers to pings, refusals.
// Several are sent at a time, so they may arrive in another order.
func NewSendQueue(life *Lifecycle, log *slog.Logger) *Queue {
	return &Queue{
		life:     life,
		log:      log,
		group:    &life.ours,
		workers:  maxSending,
		limit:    maxQueue,
		overflow: "dropped messages to the server: too many were waiting to be sent",
	}
}

// Send adds the sending of a message. Its context has the values of ctx. onError logs its error; it is not called for
// [Options.Closed].
func (q *Queue) Send(ctx context.Context, send func(context.Context) error, onError func(error)) {
	q.Add(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SendTimeout)
		defer cancel()
		defer context.AfterFunc(q.life.ctx, cancel)()
		if err := send(ctx); err != nil && !errors.Is(err, q.life.opts.Closed) {
			onError(err)
		}
	}, 0)
}

// Add adds a function, which keeps size bytes in memory.
func (q *Queue) Add(run func(), size int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.finished != nil {
		return
	}
	q.queue = append(q.queue, queued{run, size})
	q.bytes += size
	for len(q.queue) > q.limit || q.bytes > q.maxBytes && len(q.queue) > 1 {
		q.dequeueLocked()
		q.dropped.count++
	}
	if q.running < q.workers {
		q.running++
		q.startLocked()
	}
}

// startLocked starts a goroutine that is counted already.
func (q *Queue) startLocked() {
	if !q.life.startIn(q.group, q.runAll) {
		q.endLocked()
	}
}

func (q *Queue) dequeueLocked() (run func()) {
	first := q.queue[0]
	q.queue[0] = queued{} // the array outlives the slice
	q.queue = q.queue[1:]
	q.bytes -= first.size
	return first.run
}

func (q *Queue) runAll() {
	for {
		run, dropped := q.next()
		if dropped > 0 {
			q.log.Warn(q.overflow, "count", dropped)
		}
		if run == nil {
			return
		}
		q.run(run)
	}
}

// next returns the oldest function, or nil if the goroutine has to end, and the number of dropped ones if it has to be logged.
func (q *Queue) next() (run func(), dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	idle := len(q.queue) == 0 || q.life.IsClosed()
	dropped = q.dropped.report(idle)
	if idle {
		q.endLocked()
		return nil, dropped
	}
	return q.dequeueLocked(), dropped
}

// endLocked counts a goroutine that ends, because it has nothing to run or the client is closed.
func (q *Queue) endLocked() {
	q.queue, q.bytes = nil, 0
	if q.running--; q.running == 0 && q.finished != nil {
		close(q.finished)
	}
}

// run runs a function. A panic is logged. If the function ends its goroutine, by runtime.Goexit, another one continues.
func (q *Queue) run(fn func()) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			q.log.Error("a callback panicked", "panic", p, "stack", string(debug.Stack()))
		} else if !returned {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.startLocked()
		}
	}()
	fn()
	returned = true
}

// Finish accepts no more functions, and waits until all have ended, for at most d.
func (q *Queue) Finish(d time.Duration) {
	q.mu.Lock()
	if q.finished == nil {
		q.finished = make(chan struct{})
		if q.running == 0 {
			close(q.finished)
		}
	}
	finished := q.finished
	q.mu.Unlock()
	await.Closed(finished, d)
}

// dropCount counts what a queue has dropped. The count is logged at the first drop and again when
// the queue is empty, not at each drop.
type dropCount struct {
	count    int
	reported bool
}

// report returns the count if it has to be logged now, or 0. idle means that the queue is empty.
func (d *dropCount) report(idle bool) (count int) {
	if !d.reported || idle {
		count, d.count = d.count, 0
	}
	d.reported = !idle && (d.reported || count > 0)
	return count
}
