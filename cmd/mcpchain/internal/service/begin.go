package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
)

// begin begins a run, and answers with 201 and its id. A repeated request gets the same answer.
func (s *service) begin(w http.ResponseWriter, r *http.Request, c caller) error {
	var body struct {
		Input string `json:"input"`
	}
	if err := hosting.ReadJSON(w, r, maxInput, &body); err != nil {
		return err
	}
	if strings.TrimSpace(body.Input) == "" {
		return hosting.Refuse(http.StatusBadRequest, "the input is empty")
	}
	id, err := identity(r.Header)
	if err != nil {
		return err
	}
	key, err := s.startOnce(r.Context(), c, id, body.Input)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/runs/"+key.ID)
	hosting.WriteJSON(w, http.StatusCreated, map[string]string{"run": key.ID})
	return nil
}

// maxKey bounds an Idempotency-Key in bytes.
const maxKey = 255

// identity returns the id of the run that a request begins, "" for a new one. Requests of a user with the same
// Idempotency-Key begin one run, as long as that run is stored.
func identity(h http.Header) (string, error) {
	key := h.Get("Idempotency-Key")
	if len(key) > maxKey {
		return "", hosting.Refuse(http.StatusBadRequest, "the Idempotency-Key has more than %d bytes", maxKey)
	}
	if key == "" {
		return "", nil
	}
	sum := sha256.Sum256([]byte(key))
	return "key_" + hex.EncodeToString(sum[:16]), nil
}

// startOnce begins a run, after others of its user, or finds the run that an earlier request with the same id began. With
// Temporal, a stored run may begin later.
func (s *service) startOnce(ctx context.Context, c caller, id, input string) (run.Key, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	key, stored, err := s.storeOnce(ctx, c, id, input)
	if stored {
		s.engine.drive(ctx, key)
	}
	return key, err
}

// storeOnce stores a run without driving it, or finds the run with the id. stored reports whether it stored one. The runs
// of a user are stored one after the other, so that there is room for each.
func (s *service) storeOnce(ctx context.Context, c caller, id, input string) (key run.Key, stored bool, err error) {
	select {
	case c.beginning <- struct{}{}:
		defer func() { <-c.beginning }()
	case <-ctx.Done():
		return key, false, ctx.Err()
	}
	earlier := run.Key{Tenant: c.name, ID: id}
	if id != "" {
		if err := s.checkInput(ctx, earlier, input); !errors.Is(err, record.ErrNotFound) {
			return earlier, false, err
		}
	}
	if err := s.room(ctx, c.name); err != nil {
		return key, false, err
	}
	key, err = s.agent.Begin(ctx, agent.Text(input), runOptions(c.name, id, input)...)
	if errors.Is(err, record.ErrExists) { // by a concurrent request to another process
		return earlier, false, s.checkInput(ctx, earlier, input)
	}
	return key, err == nil, err
}

// checkInput returns an error if a run was begun with another input, or there is none.
func (s *service) checkInput(ctx context.Context, key run.Key, input string) error {
	state, err := database.LoadState(ctx, s.store, key)
	if err != nil {
		return err
	}
	if !bytes.Equal(state.Vars[inputVar], hashOf(input)) {
		return hosting.Refuse(http.StatusUnprocessableEntity, "the Idempotency-Key is of a run with another input")
	}
	return nil
}

// room refuses a run if the user has too many.
func (s *service) room(ctx context.Context, user string) error {
	for _, bound := range []struct {
		status run.Status
		most   int
		text   string
	}{
		{run.StatusRunning, s.limits.running, "are active"},
		{run.StatusWaiting, s.limits.open, "wait for you"},
		{"", s.limits.stored, "are stored"},
	} {
		n, err := s.store.Count(ctx, record.Query{Tenant: user, Status: bound.status, Limit: bound.most})
		if err != nil {
			return err
		}
		if n >= bound.most {
			return hosting.Refuse(http.StatusTooManyRequests, "%d of your runs %s: no more are allowed", n, bound.text)
		}
	}
	return nil
}

// inputVar is the variable of a run with the hash of its input, if it may be begun again: the state
// may not keep the input.
const inputVar = "input"

// hashOf returns the hash of an input as JSON.
func hashOf(input string) json.RawMessage {
	return fmt.Appendf(nil, "\"%x\"", sha256.Sum256([]byte(input)))
}

// runOptions returns the options of a user's run.
func runOptions(user, id, input string) []agent.RunOption {
	options := []agent.RunOption{agent.WithTenant(user), agent.WithNewRun()}
	if id != "" {
		options = append(options, agent.WithRun(id), agent.WithVar(inputVar, hashOf(input)))
	}
	return options
}
