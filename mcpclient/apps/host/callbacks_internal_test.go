package host

import (
	"runtime"
	"testing"
	"weak"
)

// A call that was made does not keep the view's message in memory.
func TestCallbacksAreForgotten(t *testing.T) {
	c := &callbacks{called: make(chan struct{}, 1)}
	message := new([64 << 10]byte)
	kept := weak.Make(message)
	c.queue("test", func() { message[0] = 1 })
	c.next().run()
	runtime.GC()
	if kept.Value() != nil {
		t.Error("the message is still in memory")
	}
	runtime.KeepAlive(c)
}
