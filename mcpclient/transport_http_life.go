package mcpclient

import "context"

// life is a context that can be ended, and ends with that of a caller. What net/http
// hangs on to a context, and what it takes to watch another one, is much of what a
// request costs: a life goes from exchange to exchange as long as it has not been
// ended, and most of them have the same caller.
type life struct {
	context.Context
	cancel context.CancelFunc
	done   <-chan struct{} // of the caller; nil for none that ever ends
	detach func() bool     // from the caller; nil for none
	next   *life           // in the list of lives
}

func newLife() *life {
	l := new(life)
	l.Context, l.cancel = context.WithCancel(context.Background())
	return l
}

// follow returns a life that ends with the caller, and not with the one before: this
// one or, where that is too late, another.
func (l *life) follow(caller context.Context) *life {
	if !l.outlive() {
		l.cancel()
		l = newLife()
	}
	if l.done = caller.Done(); l.done != nil {
		l.detach = context.AfterFunc(caller, l.cancel)
	}
	return l
}

// outlive has the life go on when the caller's context ends, if it can. It reports
// false when that has happened.
func (l *life) outlive() bool {
	if l.detach == nil {
		return true
	}
	alive := l.detach()
	l.done, l.detach = nil, nil
	return alive
}

// lives are a list of them, of which the last comes first.
type lives struct {
	first *life
	size  int
}

func (s *lives) push(l *life) {
	l.next, s.first = s.first, l
	s.size++
}

// pop returns nil when there is none.
func (s *lives) pop() *life {
	l := s.first
	if l != nil {
		s.first, l.next = l.next, nil
		s.size--
	}
	return l
}

// end ends them.
func (s lives) end() {
	for l := s.pop(); l != nil; l = s.pop() {
		l.outlive()
		l.cancel()
	}
}
