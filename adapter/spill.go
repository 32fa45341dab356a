package adapter

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"sync"

	"github.com/mcpchain/mcpchain/internal/kept"
)

// spill keeps long results in memory.
type spill struct {
	limit   int                        // bytes of all texts
	tool    *Tool                      // reads the texts
	current func(*Tool) (*Tool, error) // calls.current

	mu    sync.Mutex
	used  int               // bytes of all texts
	texts map[string]string // keys are handles
	order []string          // handles, oldest first
}

// newSpill returns a spill with the tool that reads its texts.
func newSpill(o *Options, current func(*Tool) (*Tool, error)) *spill {
	p := &spill{limit: o.KeepResults, current: current, texts: map[string]string{}}
	p.tool = Func(kept.Reader, kept.Description, p.read, &FuncOptions{ReadOnly: true}).(*funcSource).tool
	p.tool.server = newServerState(o, &Server{}) // without a label, see isReader
	return p
}

// store stores a text and returns its handle, which cannot be guessed, as a toolset may serve
// many users. It returns "" if the text is too long.
func (p *spill) store(text string) string {
	if len(text) > p.limit {
		return ""
	}
	handle := rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts[handle] = text
	p.order = append(p.order, handle)
	p.used += len(text)
	for p.used > p.limit {
		oldest := p.order[0]
		p.used -= len(p.texts[oldest])
		delete(p.texts, oldest)
		p.order = p.order[1:]
	}
	return handle
}

// read is the function of the tool.
func (p *spill) read(ctx context.Context, q kept.Query) (string, error) {
	p.mu.Lock()
	text, ok := p.texts[q.Handle]
	p.mu.Unlock()
	if !ok {
		return "", errors.New("no result with that handle is kept: call the tool that made it again")
	}
	return kept.Read(ctx, []byte(text), q, p.tool.server.policy.MaxResult)
}

// name returns the models' name for the tool.
func (p *spill) name() string {
	if now, err := p.current(p.tool); err == nil {
		return now.name
	}
	return kept.Reader
}

// fit shortens the text of a tool's result to its bound, less taken bytes, and keeps the full text.
func (p *spill) fit(text string, t *Tool, taken int) string {
	limit := t.server.policy.MaxResult - taken
	if len(text) <= limit || t.isReader() {
		return shorten(text, limit)
	}
	handle := p.store(text)
	if handle == "" {
		return shorten(text, limit)
	}
	var kind, shape string
	if limit >= roomForShape {
		kind, shape = kept.Describe([]byte(text))
	}
	return kept.Shorten(text, limit, cmp.Or(t.reader, p.name()), handle, kind, shape)
}

// roomForShape is the smallest bound at which a shortened text describes the full one, in bytes.
const roomForShape = 1 << 10
