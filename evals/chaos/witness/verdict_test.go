package witness

import (
	"testing"
	"time"
)

// TestJudge has a call of each verdict.
func TestJudge(t *testing.T) {
	w := New(time.Millisecond)
	w.effects["two"], w.effects["one"] = 2, 1
	v := newVerdict([]string{Plain})
	v.call(Plain, "two", did+"two", w)
	v.call(Plain, "none", did+"none", w)
	v.call(Plain, "one", "Error: nothing was done", w)
	v.call(Plain, "one", "", w)
	v.call(Plain, "one", "It is unknown whether the call ran", w)
	if want := (Counts{Calls: 5, Lost: 1, Doubled: 1, Silent: 2, Doubts: 1}); v.Clean() || v.All() != want {
		t.Errorf("got %+v, want %+v", v.All(), want)
	}
	v = newVerdict([]string{Plain})
	v.call(Plain, "one", "It is unknown whether the call ran", w)
	if !v.Clean() {
		t.Error("a doubt after a kill counts, want only that of a process that lives")
	}
	if v.Alive = true; v.Clean() {
		t.Error("a doubt of a process that lives does not count")
	}
}
