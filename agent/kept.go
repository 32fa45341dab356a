package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Tokens of one result. Each later turn reads a result again: over 20 turns 8,000 tokens cost
// as much as a full window, and the omitted part is only one call away.
const (
	maxResultTokens = 8000
	minResultTokens = 1000
	resultShare     = 20 // a result may take 1/resultShare of the window
)

// leastResult is how many bytes of a result the model gets in any case: the note with the handle
// and the shape has to fit.
const leastResult = 1 << 10

// results stores the long results of a run, those above [Durable.ResultTokens], beside its records if
// the store can do that. The model gets the beginning and the end of such a result, with a handle. The
// blob is durable before the outcome that names it. The handle is derived from the key of the call, so
// that a repeated call stores its result under the same handle.
type results struct{ shared }

// resultTokens returns the bound of one result: Durable.ResultTokens, or its default by the window,
// which counts as 80,000 tokens if it is unknown.
func (r *recipe) resultTokens() int {
	if n := r.opts.Durable.ResultTokens; n > 0 {
		return n
	}
	window := int(cmp.Or(r.learnt.window.Load(), int64(maxResultTokens*resultShare/2)))
	return min(max(window/resultShare, minResultTokens), maxResultTokens)
}

// blobStore returns the store for the run's results, and the run's lease. The store is nil if the run
// is not stored, or Durable.ResultTokens is negative.
func (r *results) blobStore() (record.Store, record.Lease) {
	if h := r.rec.writer.hold; h != nil && r.agent.opts.Durable.ResultTokens >= 0 {
		return h.store, h.lease
	}
	return nil, record.Lease{}
}

// longResult is a result that is stored.
type longResult struct {
	kept run.Kept
	data []byte
	text string // the shortened text, with the handle

	offered *ledger.Offered // adds the tool read_result, for the first result
}

// shorten shortens a result that is too long, and returns the long result to store. It returns other
// results as they are, and nil: results of sub-agents, of read_result and of calls without a tool,
// results above ledger.MaxBlob, and all results if there is no store for them or no room for another
// tool.
func (r *results) shorten(j *job, result *adapter.Result) (*adapter.Result, *longResult) {
	text := cmp.Or(result.Full, result.Text)
	tokens := r.agent.resultTokens()
	mayBeLong := len(text) > tokens && len(text) <= ledger.MaxBlob // a token has at least a byte
	store, _ := r.blobStore()
	if !mayBeLong || store == nil || result.Tool == nil || result.Tool == r.agent.reader.tool {
		return result, nil
	}
	var call ledger.Call
	r.rec.read(func(s *ledger.State) { call = *s.Call(j.eventCall.ID) })
	limit := max(bytesForTokens(text, tokens), leastResult)
	if len(text) <= limit || r.agent.subAgent(&call) != nil {
		return result, nil
	}
	name, change, err := r.readerName()
	if err != nil {
		return result, nil
	}
	l := &longResult{data: []byte(text), offered: change}
	kind, shape := kept.Describe(l.data)
	l.kept = run.Kept{
		Handle: resultHandle(call.Key), Tool: j.eventCall.Name,
		Kind: kind, Shape: shape, Size: len(text), Digest: ledger.DigestOf(l.data),
	}
	l.text = kept.Shorten(text, limit, name, l.kept.Handle, kind, shape)
	shortened := *result
	shortened.Text = l.text
	return &shortened, l
}

// sampleBytes is how much of a text is examined to estimate its bytes per token.
const sampleBytes = 32 << 10

// bytesForTokens estimates how many bytes of a text make that many tokens.
func bytesForTokens(text string, tokens int) int {
	sample := text[:min(len(text), sampleBytes)]
	n := model.Tokens(&model.Request{System: sample}, &model.Info{})
	return int(float64(tokens) * float64(len(sample)) / float64(max(n, 1)))
}

// resultHandle returns the handle for the result of a call.
func resultHandle(key string) string {
	sum := sha256.Sum256([]byte("result\x00" + key))
	return "r" + hex.EncodeToString(sum[:8])
}

// readerName returns the model's name for the reader. change offers it from now on; it has no tools
// if the reader is offered already.
func (r *results) readerName() (name string, change *ledger.Offered, err error) {
	change = &ledger.Offered{}
	catalog := r.offered()
	r.rec.read(func(s *ledger.State) {
		if i := slices.IndexFunc(s.Offered, func(t ledger.OfferedTool) bool { return isReaderEntry(&t) }); i >= 0 {
			name = s.Offered[i].Name
			return
		}
		n := newNamer(s)
		if _, taken := catalog.Lookup(readResult); taken {
			n.taken[readResult] = true
		}
		if name, _, err = n.add(change, r.agent.reader.tool); err == nil {
			change.Tools[0].Listed = true
		}
	})
	return name, change, err
}

// store stores the full result before its outcome is recorded, unless a hook has changed the shortened
// text, and not only added to it. If the store refuses it, the run continues with a text that is
// cut without a handle, and with a warning. The caller records more before the outcome.
func (r *results) store(l *longResult, part *run.Part) (more []ledger.Change) {
	if !strings.Contains(part.Text, l.text) {
		return nil
	}
	h := r.rec.writer.hold
	put := func(ctx context.Context) error {
		return guard("the store", func() error {
			return h.persist(ctx, func() error { return h.store.PutBlob(ctx, h.lease, l.kept.Handle, l.data) })
		})
	}
	err := put(r.scope.ctx)
	if err != nil && r.scope.ctx.Err() != nil {
		ctx, cancel := h.lastContext(r.scope.ctx)
		defer cancel()
		err = put(ctx)
	}
	if err != nil {
		part.Text = strings.Replace(part.Text, l.text, excerpt.Shorten(string(l.data), len(l.text), nil), 1)
		r.rec.show(&Warning{Text: fmt.Sprintf("the result of %s is cut for good: %v", l.kept.Tool, err)})
		return nil
	}
	part.Kept = &l.kept
	if len(part.Structured) > len(part.Text) {
		part.Structured = nil // it is in the text
	}
	if len(l.offered.Tools) > 0 {
		more = append(more, l.offered)
	}
	return more
}

// load returns the full text of a stored result.
func (r *results) load(ctx context.Context, handle string) ([]byte, error) {
	store, lease := r.blobStore()
	if store == nil {
		return nil, errors.New("results of this run are not kept")
	}
	var entry *run.Kept  // nil if another agent of the run has it
	var handles []string // the newest first
	r.rec.read(func(s *ledger.State) {
		for _, known := range slices.Backward(s.Kept) {
			if known.Handle == handle {
				entry = known
			}
			if len(handles) < maxHandles {
				handles = append(handles, known.Handle)
			}
		}
	})
	data, err := store.Blob(ctx, lease.Key, handle)
	switch {
	case errors.Is(err, record.ErrNotFound):
		return nil, fmt.Errorf("there is no result with the handle %.100q: the handles are %q", handle, handles)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("result %q cannot be read from the store", handle)
	}
	if entry != nil && ledger.CheckKept(entry, data) != nil {
		return nil, fmt.Errorf("result %q is damaged", handle)
	}
	return data, nil
}

// maxHandles bounds the handles in one text for the model.
const maxHandles = 20

// fill replaces references to stored results in the arguments of a call. shown describes the
// results in their places, for a person; sent has them.
func (r *results) fill(arguments json.RawMessage) (shown, sent json.RawMessage, err error) {
	return kept.Fill(arguments, func(handle string) ([]byte, error) { return r.load(r.scope.ctx, handle) })
}

// The tool by which a model reads stored results.
const (
	readResult = kept.Reader
	keptServer = "run" // in place of a server's label
)

// newReader returns the tool by which a model reads stored results. It is offered once there is one.
func newReader(p profile.Profile) ownTool {
	source := adapter.Func(readResult, kept.Description+" "+
		`In the arguments of other tools {"$result": handle} stands for the text of a result, and `+
		`{"$result": handle, "pointer": "/a/0"} for a value of its JSON: so it need not be read to be passed on.`,
		func(ctx context.Context, q kept.Query) (string, error) {
			all, ok := ctx.Value(keptKey{}).(*results)
			if !ok {
				return "", errors.New("results are kept only within a run")
			}
			data, err := all.load(ctx, q.Handle)
			if err != nil {
				return "", err
			}
			return kept.Read(ctx, data, q, max(all.agent.resultTokens()*readBytes, leastResult))
		}, &adapter.FuncOptions{Server: keptServer, ReadOnly: true})
	return newOwnTool(source, p)
}

// keptKey is the context key of the run's results, for a call of read_result.
type keptKey struct{}

// readBytes is the most bytes that read_result returns for each token of Durable.ResultTokens.
const readBytes = 3

// isReaderEntry reports whether a tool that a run has added is the reader.
func isReaderEntry(t *ledger.OfferedTool) bool { return t.Server == keptServer && t.Tool == readResult }
