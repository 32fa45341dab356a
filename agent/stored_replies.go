package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// storedReplies are the replies to open questions that the store has and no record yet.
type storedReplies struct {
	hold *hold // nil: nothing is stored

	mu     sync.Mutex  // guards the following fields
	asking bool        // a goroutine asks the store
	asked  time.Time   // when the store was last asked
	last   []run.Reply // the store's last answer
}

// find returns the reply to a question, nil if there is none. One goroutine at a time
// asks the store, unless it was asked within maxAge; the others, and those for whom it fails, use its last answer.
// With a maxAge of 0 each asks the store: what it had before may lack the last replies.
func (s *storedReplies) find(ctx context.Context, question string, maxAge time.Duration) *run.Reply {
	if s.hold == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if maxAge == 0 || !s.asking && time.Since(s.asked) >= maxAge {
		s.asking, s.asked = true, time.Now()
		s.mu.Unlock()
		var replies []run.Reply
		err := guard("the store", func() (err error) {
			replies, err = s.hold.replies(ctx)
			return err
		})
		s.mu.Lock()
		s.asking = false
		if err == nil {
			s.last = replies
		}
	}
	for _, reply := range s.last {
		if reply.Question == question {
			return &reply
		}
	}
	return nil
}

// add stores the reply to an open question, so that no other can be the first, and returns the
// reply that counts: this one, or the first one that the store has. If the store fails, this one counts.
func (s *storedReplies) add(ctx context.Context, reply *run.Reply) *run.Reply {
	if s.hold == nil {
		return reply
	}
	err := guard("the store", func() error { return s.hold.store.Reply(ctx, s.hold.lease.Key, []run.Reply{*reply}) })
	if errors.Is(err, record.ErrReplied) {
		if first := s.find(ctx, reply.Question, 0); first != nil {
			return first
		}
	}
	return reply
}
