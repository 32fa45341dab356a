package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// hit is a tool that a search has found, with the model's name for it.
type hit struct {
	tool  *adapter.Tool
	name  string
	fresh bool // the model did not have it before
}

// offer adds tools to the model's tools, and describes them. That is recorded before the result, so
// that no result names a tool that the run does not have.
func (f *searcher) offer(c *adapter.Catalog, found []*adapter.Tool) (text string, added []string, err error) {
	hits, full, err := f.recordOffered(found)
	if err != nil {
		return "", nil, err
	}
	for _, h := range hits {
		if h.fresh {
			added = append(added, h.name)
		}
	}
	text = listHits(hits)
	if f.rec.state.Discovery == ledger.DiscoveryCall {
		text = describeHits(c, hits)
	}
	if full {
		text = strings.TrimSpace(text + "\nOther tools fit, too, but " + errFull.Error() + ".")
	}
	return text, added, nil
}

// recordOffered records that the model is offered tools. full means that there was no room for all.
func (f *searcher) recordOffered(found []*adapter.Tool) (hits []hit, full bool, err error) {
	f.rec.writer.mu.Lock()
	defer f.rec.writer.mu.Unlock()
	n := newNamer(f.rec.state)
	change := &ledger.Offered{}
	for _, t := range found {
		name, fresh, err := n.add(change, t)
		if err != nil {
			full = true
			continue
		}
		hits = append(hits, hit{t, name, fresh})
	}
	if len(change.Tools) > 0 {
		err = f.rec.recordLocked(nil, change)
	}
	return hits, full, err
}

// listHits lists tools that the model is offered as tools of their own.
func listHits(hits []hit) string {
	var added, known []string
	for _, h := range hits {
		if !h.fresh {
			known = append(known, h.name)
			continue
		}
		description := excerpt.Line(cmp.Or(h.tool.Definition().Description, h.tool.Definition().DisplayName()), maxDescription)
		added = append(added, fmt.Sprintf("\n- %s (%s): %s", h.name, excerpt.Line(h.tool.Server(), maxLabel), description))
	}
	var text []string
	if len(added) > 0 {
		text = append(text, "You have these tools now:"+strings.Join(added, ""))
	}
	if len(known) > 0 {
		text = append(text, "You have these already: "+strings.Join(known, ", "))
	}
	return strings.Join(text, "\n")
}

// describeHits lists the definitions of tools that are called through call_tool, one per line. The
// model gets them nowhere else.
func describeHits(c *adapter.Catalog, hits []hit) string {
	var b strings.Builder
	b.WriteString("Call these by " + callTool + ":")
	all := definitions(c)
	catalog := c.Tools()
	for _, h := range hits {
		line, err := definitionLine(h.name, h.tool.Server(), &all[slices.Index(catalog, h.tool)])
		if err != nil || len(line) > maxDefinition || b.Len()+len(line) > maxAllDefinitions {
			line = []byte(h.name + " is too long to be shown here: search for it alone, or do without it.")
		}
		b.WriteByte('\n')
		b.Write(line)
	}
	return b.String()
}

// definitionLine returns the definition of a tool on one line, with the schema of the catalog.
func definitionLine(name, server string, def *model.Tool) ([]byte, error) {
	head, err := jsonrpc.Marshal(struct {
		Name        string `json:"name"`
		Server      string `json:"server"`
		Description string `json:"description"`
	}{name, server, def.Description})
	line := bytes.NewBuffer(bytes.TrimSuffix(head, []byte("}")))
	line.WriteString(`,"parameters":`)
	err = errors.Join(err, json.Compact(line, def.Schema))
	line.WriteByte('}')
	return line.Bytes(), err
}
