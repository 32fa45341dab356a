package witness

import (
	"testing"
	"time"
)

// TestJudge has a call of each verdict.
func TestJudge(t *testing.T) {
	w := New(time.Millisecond)
	w.effects["two"], w.effects["one"] = 2, 1
	v := &Verdict{Calls: map[string]int{}, Lost: map[string]int{}, Doubled: map[string]int{}, Silent: map[string]int{}, Doubts: map[string]int{}}
	v.call("plain", "two", did+"two", w)
	v.call("plain", "none", did+"none", w)
	v.call("plain", "one", "Error: nothing was done", w)
	v.call("plain", "one", "", w)
	v.call("plain", "one", "It is unknown whether the call ran", w)
	if v.Clean() || v.Doubled["plain"] != 1 || v.Lost["plain"] != 1 || v.Silent["plain"] != 2 || v.Doubts["plain"] != 1 {
		t.Errorf("got %+v", v)
	}
	v = &Verdict{Doubts: map[string]int{"plain": 1}}
	if !v.Clean() {
		t.Error("a doubt after a kill counts, want only that of a process that lives")
	}
	if v.Alive = true; v.Clean() {
		t.Error("a doubt of a process that lives does not count")
	}
}
