package mcpclient

import (
	"cmp"
)

// Limits bound the resources that one server can use: see [Options]. Zero means the default.
type Limits struct {
	// Retries bounds how often a request is sent again: after a temporary HTTP status (408,
	// 429, 5xx except 501), after its connection failed before the response began, or after the
	// response broke off and could not be resumed. The waits grow from 0.25 s to 30 s, or are
	// those of Retry-After up to 30 s; a random half of the wait, at most 5 s, is added so that
	// clients do not return together. If net/http finds an idle connection closed it uses
	// another by itself.
	//
	// Tool calls and custom requests are never sent again; initialize and server/discover only
	// after 408, 429 and 503. Retries also bounds how often the answer to a server's request is
	// sent. Default 3; negative: none.
	Retries int

	// ServerRequests bounds the server's concurrent requests. Further ones are refused with
	// code -32603. Default 16.
	ServerRequests int

	// Notifications bounds the notifications that wait for OnNotification, and the progress
	// notifications that wait for one call. Default 1,024.
	Notifications int

	// Rounds bounds the rounds of one call in which the server asks for input. Default 10. A
	// server that only defers a call has a bound of its own: see [ErrTooManyRounds].
	Rounds int

	// Pages bounds the pages of one list. Default 1,000.
	Pages int

	// Cache bounds the memory, in bytes, of cached lists and resources. Each page and each
	// resource is cached for as long as a modern server allows, and until the server announces
	// a change. [WithoutCache] bypasses the cache. Default 4 MiB; negative: no cache.
	Cache int
}

func (l Limits) withDefaults() Limits {
	l.Retries = cmp.Or(l.Retries, 3)
	l.ServerRequests = cmp.Or(max(l.ServerRequests, 0), 16)
	l.Notifications = cmp.Or(max(l.Notifications, 0), 1024)
	l.Rounds = cmp.Or(max(l.Rounds, 0), 10)
	l.Pages = cmp.Or(max(l.Pages, 0), 1000)
	l.Cache = cmp.Or(l.Cache, 4<<20)
	return l
}
