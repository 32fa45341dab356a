package mcpclient

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// crew is goroutines that are waited for together.
type crew struct {
	mu   sync.Mutex
	size int
	idle chan struct{} // closed when all have ended; nil when nobody waits for that

	hosts map[uint64]bool // the goroutines that run the host's code, by number; nil before the first
}

// Go runs fn on a goroutine of the crew.
func (c *crew) Go(fn func()) {
	c.began()
	go func() {
		defer c.ended()
		fn()
	}()
}

// GoHost is Go for what may come to the host's code.
func (c *crew) GoHost(fn func()) {
	c.began()
	go func() {
		defer c.ended()
		c.host(goroutine(), fn) // which takes its time by the depth of the stack
	}()
}

func (c *crew) began() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size++
}

func (c *crew) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size--; c.size == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// count is how many there are.
func (c *crew) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// wait reports whether all have ended within d.
func (c *crew) wait(d time.Duration) bool { return waitFor(c.whenIdle(), d) }

// whenIdle is closed once all have ended.
func (c *crew) whenIdle() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size == 0 {
		return alreadyClosed
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	return c.idle
}

var alreadyClosed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// host runs fn, which may come to the host's code, on the goroutine that calls it,
// whose number is id.
func (c *crew) host(id uint64, fn func()) {
	c.mu.Lock()
	if c.hosts == nil {
		c.hosts = map[uint64]bool{}
	}
	c.hosts[id] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.hosts, id)
	}()
	fn()
}

// hosting reports whether the goroutine that calls it is in [crew.host]: the crew
// would wait for its own member.
func (c *crew) hosting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.hosts) == 0 {
		return false
	}
	id := goroutine()
	return id != 0 && c.hosts[id]
}

// goroutine is the number of the goroutine that calls it, which no other ever has.
// The runtime shows it in the first line of a stack trace and nowhere else:
// "goroutine 7 [running]:". Should that line change it is 0, and who then closes a
// client in its own handler waits for Options.Timeouts.Close.
func goroutine() uint64 {
	var head [32]byte
	line := string(head[:runtime.Stack(head[:], false)])
	number, _, _ := strings.Cut(strings.TrimPrefix(line, "goroutine "), " ")
	id, _ := strconv.ParseUint(number, 10, 64) // 0 for what is no number
	return id
}
