package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// defaultQuestions is the default of Query.Limit for OpenQuestions.
const defaultQuestions = 1000

// OpenQuestion is a question without a reply, and the head of the run that asks it. Reply with [Submit] and
// the key of the run.
type OpenQuestion struct {
	Head     run.Head // the next page of a list begins after it: set [Query.After]
	Question *run.Question
}

// OpenQuestions returns the unanswered questions of many runs, for example for a page that shows what
// waits for a person. Of the query, Tenant, AllTenants and Agents select runs. Limit bounds the
// questions, default 1,000; the questions of one run stay together, so there may be a few more. After is
// [OpenQuestion.Head] of the last question of the previous page. Other fields are ignored.
//
// The runs that changed last come first. No question appears on two pages. A run that changes while
// pages are read moves to the front, where the next reading finds it.
//
// For a run whose questions cannot be read, because it is damaged or of a later version, it yields the
// head without a question, and an error that matches [ErrDamaged]. Any other error is the last pair.
func OpenQuestions(ctx context.Context, store Store, q Query) iter.Seq2[OpenQuestion, error] {
	return func(yield func(OpenQuestion, error) bool) {
		l := &questionList{
			store: store, query: Query{Tenant: q.Tenant, AllTenants: q.AllTenants, Agents: q.Agents, After: q.After, Limit: q.Limit},
			seen: map[run.Key]bool{}, damaged: map[string]bool{}, yield: yield,
		}
		if q.Limit <= 0 {
			l.query.Limit = defaultQuestions
		}
		l.remaining = l.query.Limit
		if l.list(ctx, run.StatusRunning, run.StatusWaiting) && q.After == nil {
			l.list(ctx, run.StatusRunning) // a waiting run may have continued in the meantime
		}
	}
}

type questionList struct {
	store     Store
	query     Query
	remaining int              // how many more questions to yield
	seen      map[run.Key]bool // runs whose questions were yielded
	damaged   map[string]bool  // keys and errors of runs that cannot be read and were yielded: some have no key
	yield     func(OpenQuestion, error) bool
}

// list yields the questions of the runs with these statuses. It reports whether to continue.
func (l *questionList) list(ctx context.Context, statuses ...run.Status) bool {
	for head, err := range newest(ctx, l.store, l.query, statuses) {
		var questions []*run.Question
		if err == nil && !l.seen[head.Key] && len(head.QuestionIDs) > head.ReplyCount {
			questions, err = openOf(ctx, l.store, head)
		}
		switch {
		case errors.Is(err, ErrDamaged):
			if !l.yieldDamage(head, err) {
				return false
			}
		case err != nil:
			l.yield(OpenQuestion{}, fmt.Errorf("list open questions: %w", err))
			return false
		}
		for _, q := range questions {
			l.seen[head.Key] = true
			l.remaining--
			if !l.yield(OpenQuestion{head, q}, nil) {
				return false
			}
		}
		if l.remaining <= 0 {
			return false
		}
	}
	return true
}

// yieldDamage yields a run that cannot be read, once. It reports whether to continue.
func (l *questionList) yieldDamage(head run.Head, err error) bool {
	text := fmt.Sprint(head.Key, err)
	if l.damaged[text] {
		return true
	}
	l.damaged[text] = true
	l.remaining--
	return l.yield(OpenQuestion{Head: head}, err)
}

// newest merges the lists of several statuses, and reads each page by page.
func newest(ctx context.Context, store Store, q Query, statuses []run.Status) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) {
		streams := make([]*stream, len(statuses))
		for i, status := range statuses {
			streams[i] = &stream{q: q}
			streams[i].q.Status = status
		}
		for {
			var next *stream
			for _, s := range streams {
				if !s.fill(ctx, store) {
					continue
				}
				if s.page[0].err != nil || next == nil || next.page[0].err == nil && ledger.HeadOrder(!q.DueAt.IsZero())(s.page[0].head, next.page[0].head) < 0 {
					next = s
				}
			}
			if next == nil {
				return
			}
			first := next.page[0]
			next.page = next.page[1:]
			if !yield(first.head, first.err) {
				return
			}
		}
	}
}

// stream reads a list of a store page by page. Each page is twice as long as the previous one.
type stream struct {
	q    Query
	page []entry
	last bool // there is no further page
}

// entry is a pair of [Store.List].
type entry struct {
	head run.Head
	err  error
}

// fill reads the next page if the current one is used up. It reports whether there is an entry.
func (s *stream) fill(ctx context.Context, store Store) bool {
	for len(s.page) == 0 && !s.last {
		n := 0
		for head, err := range store.List(ctx, s.q) {
			n++
			s.page = append(s.page, entry{head, err})
			if err == nil {
				s.q.After = &head
			}
		}
		s.last = n < s.q.Limit
		s.q.Limit *= 2
	}
	return len(s.page) > 0
}

// openOf returns the questions of one run: from its head if that has them, else from its records. The error
// matches [ErrDamaged] if these cannot be read, and the store works.
func openOf(ctx context.Context, store Store, head run.Head) ([]*run.Question, error) {
	if questions, ok := questionsIn(head); ok {
		return questions, nil
	}
	log, err := store.LoadCurrent(ctx, head.Key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil // deleted in the meantime
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	var questions []*run.Question
	if err == nil {
		questions, err = log.Questions()
	}
	if err == nil {
		return questions, nil
	}
	if outage := checkStore(ctx, store, head.Key); outage != nil {
		return nil, outage
	}
	return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
}

// checkStore returns the error of a store that cannot even list a run.
func checkStore(ctx context.Context, store Store, key run.Key) error {
	for _, err := range store.List(ctx, Query{Tenant: key.Tenant, ID: key.ID, Limit: 1}) {
		if err != nil && !errors.Is(err, ErrDamaged) {
			return err
		}
	}
	return nil
}

// questionsIn returns the open questions in a head. ok is false if the records have to be read instead.
func questionsIn(h run.Head) (questions []*run.Question, ok bool) {
	if len(h.Questions) == 0 || h.ReplyCount > 0 || json.Unmarshal(h.Questions, &questions) != nil || len(questions) != len(h.QuestionIDs) {
		return nil, false
	}
	for i, q := range questions {
		if q == nil || q.ID != h.QuestionIDs[i] {
			return nil, false
		}
	}
	return questions, true
}

// Questions returns the unanswered questions of the run and its sub-agents. The error is that
// of decoding the records.
func (l *Log) Questions() ([]*run.Question, error) {
	s, err := ledger.StateOf(l.Records)
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", l.Head.Key.ID, err)
	}
	answered := func(q *run.Question) bool {
		return slices.ContainsFunc(l.Replies, func(r run.Reply) bool { return r.Question == q.ID })
	}
	return slices.DeleteFunc(ledger.Open(s), answered), nil
}

// Submit checks replies against their questions, and stores them for the present or next holder
// of the run. Replies without a time get the present one. A question that does not survive its
// process ([run.Question.Survives]) takes no reply once that process has ended: when its lease has
// ended, or should have been renewed long ago. The errors come from [run.CheckReply], [Store.Load]
// and [Store.Reply]. With an error of this package no reply was stored; after any other error
// load the run.
func Submit(ctx context.Context, store Store, key run.Key, replies ...run.Reply) error {
	if len(replies) == 0 {
		return nil
	}
	log, err := store.LoadCurrent(ctx, key)
	if err != nil {
		return err
	}
	s, err := ledger.StateOf(log.Records)
	if err != nil {
		return fmt.Errorf("load run %q: %w", key.ID, err)
	}
	now := time.Now()
	replies = ledger.Dated(replies, now)
	open, err := ledger.CheckOpen(s, replies, now)
	if err != nil {
		return err
	}
	if !holderLives(log.Head, now) {
		if err := checkSurvive(s, open); err != nil {
			return err
		}
	}
	return store.Reply(ctx, key, replies)
}

// lateRenewal is the part of a lease, a quarter, that is left only if its holder has missed two
// renewals: it renews after each third of the lease.
const lateRenewal = 4

// holderLives reports whether a process holds the run and has renewed its lease in time. A
// process that was killed seems to live until three quarters of its lease have passed.
func holderLives(h run.Head, now time.Time) bool {
	return h.HeldAt(now) && h.HeldUntil.Sub(now) > h.TTL/lateRenewal
}

func checkSurvive(s *ledger.State, replies []run.Reply) error {
	for _, q := range ledger.Open(s) {
		if !q.Survives && slices.ContainsFunc(replies, func(reply run.Reply) bool { return reply.Question == q.ID }) {
			return fmt.Errorf("answer question %q of run %q: the process that asked it has ended, or has not renewed its lease: %w",
				q.ID, s.ID, run.ErrNotAsked)
		}
	}
	return nil
}
