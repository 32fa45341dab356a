package sampling

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Limits bound the requests and the cost of all servers. A zero field has its default; [New] refuses a negative one.
// The limits hold for any number of concurrent requests, with and without a reviewer.
//
// Before the reviewer or the model is asked, an upper bound of the cost is reserved: one token for
// each byte of the request's text, and its maxTokens. Afterwards the real cost replaces the
// reservation: the provider's count, or an estimate if the count is missing or cannot be true. The
// reply of an attempt that failed midway counts as maxTokens, because its cost is unknown.
type Limits struct {
	// MaxTokens bounds one reply; a request for more is lowered to it. Default 4,096.
	MaxTokens int

	// InputBytes bounds one request in bytes: its text, its media, its tools and their results, and
	// 16 bytes for each message and each block. The schemas of its tools count as they are
	// rewritten for the model, if that is more. Larger requests are refused. Default 4 MiB.
	InputBytes int

	// Total bounds all servers together. Default: 50 requests and 1,000,000 tokens within any
	// Window, 4 requests at the same time, and no limit of cost.
	Total Budget

	// Window is the length of the sliding period of the limits. Default 1 h.
	Window time.Duration

	// PerServer bounds each server, in addition to Total. Default for each field: half of the field
	// of Total, so that some remains for other servers.
	PerServer Budget

	// PerCall bounds the requests in each call, requests in nested calls included. A call that
	// makes none within a Window begins again with the whole budget. The connection identifies the
	// call. On a connection of revision 2025-11-25 or earlier with several calls under way,
	// [Options.Origin] identifies it, if it can. Default: 20 requests.
	PerCall Budget
}

// Budget bounds requests. A zero field has the default that [Limits] names.
type Budget struct {
	// Requests bounds the requests within any Window, whatever their outcome; more are refused. A request does not count
	// if it is invalid, if the policy or a limit refuses it at once, or if no model can answer it. It may need two
	// completions: a model that does not call a required tool, or calls a tool wrongly, is asked again.
	Requests int

	// Tokens bounds the tokens of requests and replies within any Window.
	Tokens int64

	// Cost bounds the cost within any Window, in millionths of each currency's unit: {"USD": 500_000} is half a dollar.
	// [Options.Prices] must have a price for every model, in one of these currencies.
	Cost map[string]int64

	// Concurrent bounds the requests that are reviewed or answered at the same time; more requests wait.
	Concurrent int
}

// check refuses negative limits.
func (l Limits) check() error {
	for _, one := range []struct {
		name     string
		negative bool
	}{
		{"MaxTokens", l.MaxTokens < 0}, {"InputBytes", l.InputBytes < 0}, {"Window", l.Window < 0},
		{"Total", l.Total.hasNegative()}, {"PerServer", l.PerServer.hasNegative()}, {"PerCall", l.PerCall.hasNegative()},
	} {
		if one.negative {
			return fmt.Errorf("Options.Limits.%s is negative; give a positive value, or 0 for the default", one.name)
		}
	}
	return nil
}

func (b Budget) hasNegative() bool {
	costs := append(slices.Collect(maps.Values(b.Cost)), 0)
	return b.Requests < 0 || b.Tokens < 0 || b.Concurrent < 0 || slices.Min(costs) < 0
}

// withDefaults returns a completed copy.
func (l Limits) withDefaults() Limits {
	l.MaxTokens = cmp.Or(l.MaxTokens, 4096)
	l.InputBytes = cmp.Or(l.InputBytes, 4<<20)
	l.Total.Requests = cmp.Or(l.Total.Requests, 50)
	l.Total.Tokens = cmp.Or(l.Total.Tokens, 1_000_000)
	l.Window = cmp.Or(l.Window, time.Hour)
	l.Total.Concurrent = cmp.Or(l.Total.Concurrent, 4)
	l.PerCall.Requests = cmp.Or(l.PerCall.Requests, 20)
	l.PerServer.Requests = cmp.Or(l.PerServer.Requests, (l.Total.Requests+1)/2)
	l.PerServer.Concurrent = cmp.Or(l.PerServer.Concurrent, (l.Total.Concurrent+1)/2)
	l.PerServer.Tokens = cmp.Or(l.PerServer.Tokens, (l.Total.Tokens+1)/2)
	if l.PerServer.Cost == nil && l.Total.Cost != nil {
		l.PerServer.Cost = make(map[string]int64, len(l.Total.Cost))
		for currency, micro := range l.Total.Cost {
			l.PerServer.Cost[currency] = (micro + 1) / 2
		}
	}
	return l
}
