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

// OpenQuestion is a question without a reply, and the run that asks it. Reply with [Submit] and
// the key of the run.
type OpenQuestion struct {
	// Head is the head of the run. The next page of a list begins after it: set [Query.After].
	Head run.Head

	Question *run.Question

	// Err says why the questions of the run cannot be read: it is damaged, or of a later
	// version. Question is nil then. The questions of other runs follow.
	Err error
}

// OpenQuestions returns the unanswered questions of many runs, for example for a page that shows what
// waits for a person. Of the query, Tenant, AllTenants and Agents select runs. Limit bounds the
// questions, default 1,000; the questions of one run stay together, so there may be a few more. After is
// [OpenQuestion.Head] of the last question of the previous page. Other fields are ignored.
//
// The runs that changed last come first. No question appears on two pages. A run that changes while
// pages are read moves to the front, where the next reading finds it. An error of the store is the
// last pair.
func OpenQuestions(ctx context.Context, store Store, q Query) iter.Seq2[OpenQuestion, error] {
	return func(yield func(OpenQuestion, error) bool) {
		limit := q.Limit
		if limit <= 0 {
			limit = defaultQuestions
		}
		l := &questionList{
			store: store, query: Query{
				Tenant:     q.Tenant,
				AllTenants: q.AllTenants,
				Agents:     q.Agents,
				After:      q.After,
				Limit:      limit,
			},
			remaining: limit, seen: map[run.Key]bool{}, damaged: map[string]bool{}, yield: yield,
		}
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
	damaged   map[string]bool  // errors of damaged runs that were yielded: some have no key
	yield     func(OpenQuestion, error) bool
}

// list yields the questions of the runs with these statuses. It reports whether to continue.
func (l *questionList) list(ctx context.Context, statuses ...run.Status) bool {
	for head, err := range newest(ctx, l.store, l.query, statuses) {
		questions, err := l.unseen(ctx, head, err)
		if err != nil {
			l.yield(OpenQuestion{}, fmt.Errorf("list open questions: %w", err))
			return false
		}
		for _, q := range questions {
			l.seen[head.Key] = true
			l.remaining--
			if !l.yield(q, nil) {
				return false
			}
		}
		if l.remaining <= 0 {
			return false
		}
	}
	return true
}

// unseen returns the questions of a run, unless they were yielded. err is the error of listing the run.
func (l *questionList) unseen(ctx context.Context, head run.Head, err error) ([]OpenQuestion, error) {
	damaged, ok := errors.AsType[*DamagedError](err)
	switch {
	case err != nil && !ok:
		return nil, err
	case ok && l.damaged[damaged.Error()], !ok && l.seen[head.Key]:
		return nil, nil
	case ok:
		l.damaged[damaged.Error()] = true
		return []OpenQuestion{{Head: head, Err: damaged}}, nil
	case len(head.QuestionIDs) <= head.ReplyCount:
		return nil, nil
	}
	return openOf(ctx, l.store, head)
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
				if s.page[0].err != nil || next == nil || next.page[0].err == nil && q.Compare(s.page[0].head, next.page[0].head) < 0 {
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

// openOf returns the questions of one run: from its head if that has them, else from its records. If
// these cannot be read, it returns one question with the reason in Err.
func openOf(ctx context.Context, store Store, head run.Head) (open []OpenQuestion, err error) {
	questions, ok := questionsIn(head)
	if !ok {
		log, err := store.LoadCurrent(ctx, head.Key)
		switch {
		case errors.Is(err, ErrNotFound):
			return nil, nil // deleted in the meantime
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			questions, err = log.Questions()
		}
		if err != nil {
			return []OpenQuestion{{Head: head, Err: err}}, nil
		}
	}
	for _, question := range questions {
		open = append(open, OpenQuestion{Head: head, Question: question})
	}
	return open, nil
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
	open, err := ledger.CheckOpen(s, replies)
	if err != nil {
		return err
	}
	if !holderLives(log.Head, time.Now()) {
		if err := checkSurvive(s, open); err != nil {
			return err
		}
	}
	return store.Reply(ctx, key, ledger.Dated(replies))
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
			return fmt.Errorf("answer question %q of run %q: the process that asked it has ended, or has not renewed its lease: %w", q.ID, s.ID, run.ErrNotAsked)
		}
	}
	return nil
}
