package fakehost

import (
	"slices"
	"sync"
)

// Log keeps the requests to a host.
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

// Requests returns the valid requests.
func (l *Log[Request]) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// Invalid returns why requests were refused.
func (l *Log[Request]) Invalid() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.invalid)
}
