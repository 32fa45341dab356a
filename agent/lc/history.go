package lc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// holdFor bounds how long a change of a history holds the run. If the process dies during
// the change, the run stays held for that long.
const holdFor = time.Minute

// releaseTime bounds the release of a run.
const releaseTime = 5 * time.Second

// History returns the history of a run in a store, for langchaingo's memories. name is the name of
// the agent that the run belongs to ([agent.Agent.Name]); that agent can continue the run.
//
// Messages are texts, tool calls and their results, without media. A run that does not exist has no
// messages; adding a message creates it. Only a run that has ended can be changed. If another
// process holds the run, the error matches [record.ErrHeld]. Clear deletes the run.
func History(store record.Store, key run.Key, name string) schema.ChatMessageHistory {
	return &history{store: store, key: key, agent: name}
}

// history is the history of [History]. Nothing of the run is kept between calls.
type history struct {
	store record.Store
	key   run.Key
	agent string
}

// Messages returns the messages, without tool calls that have no results yet.
func (h *history) Messages(ctx context.Context) ([]llms.ChatMessage, error) {
	s, err := h.state(ctx)
	if errors.Is(err, record.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	messages := s.History
	if s.Phase == ledger.PhaseCalls {
		messages = messages[:len(messages)-1]
	}
	return toChat(messages), nil
}

func (h *history) AddUserMessage(ctx context.Context, text string) error {
	return h.AddMessage(ctx, llms.HumanChatMessage{Content: text})
}

func (h *history) AddAIMessage(ctx context.Context, text string) error {
	return h.AddMessage(ctx, llms.AIChatMessage{Content: text})
}

// AddMessage adds a message and ends the run again in one step, so that no process continues the
// run in between.
func (h *history) AddMessage(ctx context.Context, message llms.ChatMessage) error {
	messages := fromChat([]llms.ChatMessage{message})
	return h.change(ctx, messages, func(s *ledger.State) []ledger.Change {
		return []ledger.Change{&ledger.Said{Messages: messages, Limits: s.Limits}, &ledger.Ended{Status: run.StatusFinished}}
	})
}

// SetMessages replaces all messages.
func (h *history) SetMessages(ctx context.Context, messages []llms.ChatMessage) error {
	all := fromChat(messages)
	return h.change(ctx, all, func(s *ledger.State) []ledger.Change {
		return []ledger.Change{&ledger.Compacted{Replaced: len(s.History), Messages: all}}
	})
}

// Clear deletes the run.
func (h *history) Clear(ctx context.Context) error {
	err := h.hold(ctx, func(_ *ledger.State, _ record.Lease) error { return h.store.Delete(ctx, h.key) })
	if errors.Is(err, record.ErrNotFound) {
		return nil
	}
	return err
}

// change applies changes to the run. If the run does not exist, it creates the run with the
// messages in first.
func (h *history) change(ctx context.Context, first []run.Message, changes func(*ledger.State) []ledger.Change) error {
	err := h.hold(ctx, func(s *ledger.State, lease record.Lease) error {
		records, err := s.Add(now(), changes(s)...)
		if err != nil {
			return err
		}
		return h.store.Append(ctx, lease, ledger.HeadOf(s), records)
	})
	if !errors.Is(err, record.ErrNotFound) {
		return err
	}
	s := new(ledger.State)
	records, err := s.Add(now(), &ledger.Begun{
		V:        ledger.Version,
		ID:       h.key.ID,
		Tenant:   h.key.Tenant,
		Agent:    ledger.AgentName{Name: h.agent},
		Messages: first,
	}, &ledger.Ended{Status: run.StatusFinished})
	if err != nil {
		return err
	}
	lease, err := h.store.Create(ctx, holder(), ledger.HeadOf(s), records)
	if err != nil {
		return err
	}
	h.release(ctx, lease)
	return nil
}

// hold calls f with a lease of the run. It is an error if the run has not ended, or is held.
func (h *history) hold(ctx context.Context, f func(*ledger.State, record.Lease) error) error {
	lease, err := h.store.Acquire(ctx, h.key, holder())
	if err != nil {
		return err
	}
	defer h.release(ctx, lease)
	s, err := h.state(ctx)
	if err != nil {
		return err
	}
	if !s.Status.Ended() {
		return fmt.Errorf("run %q is %s; its history can be changed when it has ended", h.key.ID, s.Status)
	}
	return f(s, lease)
}

// state loads the run. It is an error if the run belongs to another agent.
func (h *history) state(ctx context.Context) (*ledger.State, error) {
	log, err := record.LoadCurrent(ctx, h.store, h.key)
	if err != nil {
		return nil, err
	}
	s, err := ledger.StateOf(log.Records)
	if err != nil {
		return nil, fmt.Errorf("load run %q: %w", h.key.ID, err)
	}
	if s.Agent.Name != h.agent {
		return nil, fmt.Errorf("run %q is of agent %q, and not of %q", h.key.ID, s.Agent.Name, h.agent)
	}
	return s, nil
}

// release releases the run for others.
func (h *history) release(ctx context.Context, lease record.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	_ = h.store.Release(ctx, lease) // it expires otherwise
}

// holder names this process as the holder of a run.
func holder() record.Holder {
	host, _ := os.Hostname()
	return record.Holder{Name: fmt.Sprintf("%s/%d", host, os.Getpid()), TTL: holdFor}
}

// now returns the time for a record.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
