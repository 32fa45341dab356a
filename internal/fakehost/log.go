package fakehost

import (
	"slices"
	"sync"
)

// Log keeps what a host was asked.
type Log[Request any] struct {
	mu       sync.Mutex
	requests []Request
	invalid  []string
}

// Record adds a request, or why it was refused.
func (l *Log[Request]) Record(r Request, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.invalid = append(l.invalid, err.Error())
	} else {
		l.requests = append(l.requests, r)
	}
}

// Requests are those that were valid.
func (l *Log[Request]) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// Invalid says why requests were refused.
func (l *Log[Request]) Invalid() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.invalid)
}
