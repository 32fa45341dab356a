package talk

import (
	"context"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// maxTitles bounds the titles in memory.
const maxTitles = 10_000

// Summary is a conversation in the list.
type Summary struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Status  string    `json:"status"` // running, waiting, done, failed or cancelled
	Asks    int       `json:"asks"`   // number of questions to the user without an answer
	Updated time.Time `json:"updated"`
}

// List returns a page of a user's conversations, the latest first: at most maxListed of those that follow the one with the
// id after, which was last changed at updated; "" for the first page. It leaves out damaged ones. more reports whether
// others follow.
func (s *Service) List(ctx context.Context, user, after string, updated time.Time) (page []Summary, more bool, err error) {
	page = []Summary{}
	q := record.Query{Tenant: user, Agents: []string{AgentName}}
	if after != "" {
		q.After = &run.Head{Key: run.Key{Tenant: user, ID: after}, Updated: updated}
	}
	for head, err := range record.SkipDamaged(s.o.Store.List(ctx, q), nil) {
		switch {
		case err != nil:
			return nil, false, err
		case len(page) == maxListed:
			return page, true, nil
		}
		page = append(page, s.summary(ctx, head))
	}
	return page, false, nil
}

func (s *Service) summary(ctx context.Context, head run.Head) Summary {
	return Summary{
		ID:      head.Key.ID,
		Title:   s.title(ctx, head.Key),
		Status:  string(head.Status),
		Asks:    len(head.QuestionIDs) - head.ReplyCount,
		Updated: head.Updated,
	}
}

// title returns the beginning of the conversation's first question, or a text that says that the conversation cannot be
// read. It remembers titles, because they do not change.
func (s *Service) title(ctx context.Context, key run.Key) string {
	s.mu.Lock()
	title, ok := s.titles[key]
	s.mu.Unlock()
	if ok {
		return title
	}
	log, err := s.o.Store.Load(ctx, key)
	if err != nil || len(log.Records) == 0 {
		return "(cannot be read)"
	}
	messages := inputOf(ledger.ChangeOf(log.Records[0]))
	if messages == nil { // it was pruned
		state, err := ledger.StateOf(log.Records)
		if err != nil {
			return "(cannot be read)"
		}
		messages = state.History[:min(len(state.History), 1)]
	}
	for _, m := range messages {
		if m.Role == run.RoleUser { // the last one counts: earlier ones belong to the conversation that was edited
			title = hosttext.Line(m.Text(), 60)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.titles) >= maxTitles {
		clear(s.titles)
	}
	s.titles[key] = title
	return title
}

// listSignal fires when a user's list changes, or what windows show beside it.
type listSignal struct {
	Signal
	uses int // guarded by Service.mu
}

// acquireList returns the signal of a user's list. The caller calls releaseList.
func (s *Service) acquireList(user string) *listSignal {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lists[user]
	if l == nil {
		l = &listSignal{}
		s.lists[user] = l
	}
	l.uses++
	return l
}

// releaseList ends a use of the signal of a user's list. The last one forgets it.
func (s *Service) releaseList(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lists[user]; l.uses > 1 {
		l.uses--
	} else {
		delete(s.lists, user)
	}
}

// ChangedAll tells the windows of all users that shared data has changed.
func (s *Service) ChangedAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lists {
		l.Fire()
	}
}

// Changed tells the windows of a user that the list or other data of the user has changed.
func (s *Service) Changed(user string) {
	s.mu.Lock()
	l := s.lists[user]
	s.mu.Unlock()
	if l != nil {
		l.Fire()
	}
}
