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

// A result above [Durable.ResultTokens] is kept beside the records of the run, if the store can do that, and the model gets its
// head and tail with a handle. The blob is durable before the outcome that names it. The handle is made of the key of the call: a
// call that is made again after a kill keeps its result under the same one.

const (
	readResult = kept.Reader

	// keptServer stands for the server of read_result.
	keptServer = "run"
)

// Tokens of one result. A result is read again in each turn that follows: at 20 turns 8,000 tokens cost as much as a
// whole window. What is cut is one call away.
const (
	maxResultTokens = 8000
	minResultTokens = 1000
	resultShare     = 20 // of the window, which a result may take one part of
)

// reader is the tool by which a model reads kept results. It is offered from the first one on.
type reader struct {
	source  *adapter.FuncTool
	offered model.Tool // as models get it
}

func newReader(p profile.Profile) *reader {
	source := adapter.Func(readResult, kept.Description+" "+
		"In the arguments of other tools {\"$result\": handle} stands for the text of a result, and {\"$result\": handle, \"pointer\": \"/a/0\"} for a value of its JSON: "+
		"so it need not be read to be passed on.",
		func(ctx context.Context, q kept.Query) (string, error) {
			k, ok := ctx.Value(keptKey{}).(*results)
			if !ok {
				return "", errors.New("results are kept in a run alone")
			}
			data, err := k.keptData(ctx, q.Handle)
			if err != nil {
				return "", err
			}
			return kept.Read(data, q, k.agent.resultTokens()*readBytes)
		}, &adapter.FuncOptions{Server: keptServer, ReadOnly: true, Trusted: true})
	return &reader{source, definitions(source.Catalog(p))[0]}
}

// is reports whether a tool is the reader.
func (r *reader) is(t *adapter.Tool) bool { return t != nil && t == r.source.Tool() }

// tool is the reader, if a call means it.
func (r *reader) tool(c *ledger.Call) *adapter.Tool {
	if t := r.source.Tool(); c.Server == keptServer && c.Tool == readResult && c.Def == t.Fingerprint() {
		return t
	}
	return nil
}

// reads reports whether a tool that a run has added is the reader.
func reads(t *ledger.OfferedTool) bool { return t.Server == keptServer && t.Tool == readResult }

// results keeps the long results of a run.
type results struct {
	rec     *recorder
	agent   *recipe
	scope   *scope
	offered func() *adapter.Catalog
}

// readerName is the name by which the model knows the reader. change has it offered from now on; empty: it is offered already.
func (k *results) readerName() (name string, change *ledger.Offered, err error) {
	change = &ledger.Offered{}
	catalog := k.offered()
	k.rec.read(func(s *ledger.State) {
		if i := slices.IndexFunc(s.Offered, func(t ledger.OfferedTool) bool { return reads(&t) }); i >= 0 {
			name = s.Offered[i].Name
			return
		}
		n := newNamer(s)
		if _, taken := catalog.Lookup(readResult); taken {
			n.taken[readResult] = true
		}
		if _, err = n.add(change, k.agent.reader.source.Tool()); err == nil {
			change.Tools[0].Listed = true
			name = change.Tools[0].Name
		}
	})
	return name, change, err
}

// readBytes is how many bytes read_result gives for each token of a result, at most.
const readBytes = 3

// keptKey finds the results of the run in a call of read_result.
type keptKey struct{}

// resultTokens is the bound of one result.
func (r *recipe) resultTokens() int {
	if n := r.opts.Durable.ResultTokens; n > 0 {
		return n
	}
	window := int(cmp.Or(r.window.Load(), int64(maxResultTokens*resultShare/2)))
	return min(max(window/resultShare, minResultTokens), maxResultTokens)
}

// keeper is where the run keeps results, nil if it keeps none.
func (k *results) keeper() (record.BlobStore, record.Lease) {
	if h, ok := k.rec.writer.journal.(*hold); ok && k.agent.opts.Durable.ResultTokens >= 0 {
		return record.BlobsOf(h.store), h.lease
	}
	return nil, record.Lease{}
}

// handleOf is the handle of the result of a call.
func handleOf(key string) string {
	sum := sha256.Sum256([]byte("result\x00" + key))
	return "r" + hex.EncodeToString(sum[:8])
}

// long is a result that is kept.
type long struct {
	kept run.Kept
	data []byte
	text string // for the model, with the handle

	offered *ledger.Offered // the tool that reads it, if it is the first
}

// shortened cuts the text of a result that is too long, and returns what is to be kept, nil for others.
func (k *results) shortened(j *job, r *adapter.Result) (*adapter.Result, *long) {
	text := cmp.Or(r.Full, r.Text)
	tokens := k.agent.resultTokens()
	if len(text) <= tokens || len(text) > record.MaxBlob || r.Tool == nil || k.agent.reader.is(r.Tool) {
		return r, nil
	}
	var call ledger.Call
	k.rec.read(func(s *ledger.State) { call = *s.Call(j.about.ID) })
	if k.agent.sub(&call) != nil {
		return r, nil
	}
	store, _ := k.keeper()
	if store == nil {
		return r, nil
	}
	limit := bytesOf(text, tokens)
	if len(text) <= limit {
		return r, nil
	}
	name, change, err := k.readerName()
	if err != nil {
		return r, nil
	}
	l := &long{data: []byte(text), offered: change}
	kind, shape := kept.Describe(l.data)
	l.kept = run.Kept{
		Handle: handleOf(call.Key), Tool: j.about.Name, Kind: kind, Shape: shape, Size: len(text), Digest: ledger.DigestOf(l.data),
	}
	l.text = kept.Shorten(text, limit, name, l.kept.Handle, kind, shape)
	short := *r
	short.Text = l.text
	return &short, l
}

// sampleBytes is how much of a text tells how many bytes a token of it has.
const sampleBytes = 32 << 10

// bytesOf is how many bytes of a text make so many tokens, as an estimate.
func bytesOf(text string, tokens int) int {
	sample := text[:min(len(text), sampleBytes)]
	n := model.Tokens(&model.Request{System: sample}, &model.Info{})
	return int(float64(tokens) * float64(len(sample)) / float64(max(n, 1)))
}

// keep keeps the whole of a result before its outcome is recorded. What a hook has taken the handle out of is not
// kept. If the store does not take it, the result is cut for good, and the run continues. more is recorded before the
// outcome.
func (k *results) keep(l *long, part *run.Part) (more []ledger.Change) {
	if part.Text != l.text {
		return nil
	}
	store, lease := k.keeper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.scope.ctx), lastWrite)
	defer cancel()
	err := guarded("the store", func() error { return store.PutBlob(ctx, lease, l.kept.Handle, l.data) })
	if err == nil {
		part.Kept = &l.kept
		if len(part.Structured) > len(part.Text) {
			part.Structured = nil // the text has it
		}
		if len(l.offered.Tools) > 0 {
			more = append(more, l.offered)
		}
		return more
	}
	part.Text = excerpt.Shorten(string(l.data), len(l.text), nil)
	k.rec.show(&Warning{Text: fmt.Sprintf("the result of %s is cut for good: %v", l.kept.Tool, err)})
	return nil
}

// keptData is the whole of a kept result.
func (k *results) keptData(ctx context.Context, handle string) ([]byte, error) {
	store, lease := k.keeper()
	if store == nil {
		return nil, errors.New("the results of this run are not kept")
	}
	data, err := store.Blob(ctx, lease.Key, handle)
	switch {
	case errors.Is(err, record.ErrNoBlob):
		return nil, fmt.Errorf("there is no result with the handle %.100q: the handles are %q", handle, k.handles())
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("the result %q cannot be read from the store", handle)
	}
	if k := k.keptAs(handle); k != nil && ledger.CheckKept(k, data) != nil {
		return nil, fmt.Errorf("the result %q is damaged", handle)
	}
	return data, nil
}

// keptAs is what the state says of a kept result, nil if it is of another agent of the run.
func (k *results) keptAs(handle string) (found *run.Kept) {
	k.rec.read(func(s *ledger.State) {
		if i := slices.IndexFunc(s.Kept, func(k *run.Kept) bool { return k.Handle == handle }); i >= 0 {
			found = s.Kept[i]
		}
	})
	return found
}

// maxHandles bounds the handles that a model is told.
const maxHandles = 20

func (k *results) handles() (all []string) {
	k.rec.read(func(s *ledger.State) {
		for _, k := range slices.Backward(s.Kept) {
			if all = append(all, k.Handle); len(all) == maxHandles {
				break
			}
		}
	})
	return all
}

// fill replaces references in the arguments of a call with kept results.
func (k *results) fill(arguments json.RawMessage) (shown, sent json.RawMessage, err error) {
	return kept.Fill(arguments, func(handle string) ([]byte, error) { return k.keptData(k.scope.ctx, handle) })
}

// nameKept names the results in a summary that are kept and that the history does not name any more: the model would not know of them.
// The newest ones are named.
func (d *dialog) nameKept(c *ledger.Compacted) {
	s := d.rec.state
	at := slices.IndexFunc(c.Messages, func(m run.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p run.Part) bool { return p.Type == run.PartSummary })
	})
	reader := slices.IndexFunc(s.Offered, func(t ledger.OfferedTool) bool { return reads(&t) })
	if at < 0 || reader < 0 {
		return
	}
	after := slices.Concat(c.Messages, s.History[min(c.Replaced, len(s.History)):])
	var lines []string
	for _, k := range slices.Backward(s.Kept) {
		if len(lines) < maxHandles && !names(after, k.Handle) {
			lines = append(lines, fmt.Sprintf("\n- %s: %d bytes of %s, %s %s", k.Handle, k.Size, k.Tool, k.Kind, k.Shape))
		}
	}
	if len(lines) == 0 {
		return
	}
	slices.Reverse(lines)
	c.Messages = slices.Clone(c.Messages)
	m := &c.Messages[at]
	m.Parts = slices.Clone(m.Parts)
	part := slices.IndexFunc(m.Parts, func(p run.Part) bool { return p.Type == run.PartSummary })
	m.Parts[part].Text += fmt.Sprintf("\n\nResults that are kept, for %s:%s", s.Offered[reader].Name, strings.Join(lines, ""))
}

// names reports whether messages name a handle.
func names(messages []run.Message, handle string) bool {
	return slices.ContainsFunc(messages, func(m run.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p run.Part) bool {
			return strings.Contains(p.Text, handle) || strings.Contains(p.Arguments, handle)
		})
	})
}
