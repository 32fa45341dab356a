package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"text/template"
)

// The tools that are called. The responder looks for their names anywhere in a request.
const (
	smallTool = "bench_small" // 102 bytes
	mibTool   = "bench_1mib"
	mib10Tool = "bench_10mib"
)

// textLength maps each tool to the length of the text in its answer.
var textLength = map[string]int{smallTool: 102, mibTool: 1 << 20, mib10Tool: 10 << 20}

// The list of tools.
const (
	toolCount = 1000
	pageCount = 20
)

// text returns prose of a length in bytes: lines of about 80, some with quotes and some with a letter beyond ASCII.
func text(length int) string {
	var b strings.Builder
	for i := 0; b.Len() < length; i++ {
		switch i % 8 {
		case 3:
			fmt.Fprintf(&b, "Line %d says \"nothing of note\" about the weather, the harvest or the price of corn.\n", i)
		case 7:
			fmt.Fprintf(&b, "Line %d is from the café at the corner, where everybody reads the paper in the rain.\n", i)
		default:
			fmt.Fprintf(&b, "Line %d goes on about the weather in the mountains, and the roads that lead there.\n", i)
		}
	}
	s := strings.ToValidUTF8(b.String()[:length], "")
	return s + strings.Repeat(".", length-len(s))
}

//go:embed tool.json.tmpl
var toolText string

// toolTemplate is a typical tool of a server with many tools: about 1.6 kB.
var toolTemplate = template.Must(template.New("tool").Parse(toolText))

func tool(i int) json.RawMessage {
	topic := [...]string{"invoice", "customer", "shipment", "contract", "ticket"}[i%5]
	var b bytes.Buffer
	if err := toolTemplate.Execute(&b, map[string]any{"Topic": topic, "Number": i, "Workspace": i + 1}); err != nil {
		panic(err) // the template is our own
	}
	return b.Bytes()
}

// answers holds the results of one era in wire form: from the comma behind the id to the newline behind the message.
type answers struct {
	initialize []byte
	discover   []byte
	texts      map[string]func() []byte // text by tool, made at the first use
	pages      func() [][]byte
}

// newAnswers makes the answers of an era.
func newAnswers(revision string) *answers {
	done := func(result map[string]any) []byte {
		if revision == modern {
			result["resultType"] = "complete"
		}
		raw, err := json.Marshal(result)
		if err != nil {
			panic(err) // the values are our own
		}
		return append(append([]byte(`,"result":`), raw...), "}\n"...)
	}
	capabilities := map[string]any{"tools": map[string]any{}}
	info := map[string]any{"name": "responder", "version": "1.0.0"}
	a := &answers{
		initialize: done(map[string]any{"protocolVersion": legacy, "capabilities": capabilities, "serverInfo": info}),
		discover: done(map[string]any{
			"supportedVersions": []string{modern},
			"capabilities":      capabilities,
			"_meta":             map[string]any{"io.modelcontextprotocol/serverInfo": info},
		}),
		texts: map[string]func() []byte{},
	}
	for tool, length := range textLength {
		a.texts[tool] = sync.OnceValue(func() []byte {
			return done(map[string]any{"content": []any{map[string]any{"type": "text", "text": text(length)}}})
		})
	}
	a.pages = sync.OnceValue(func() (pages [][]byte) {
		for page := range pageCount {
			var tools []any
			for i := range toolCount / pageCount {
				tools = append(tools, tool(page*toolCount/pageCount+i))
			}
			result := map[string]any{"tools": tools}
			if page+1 < pageCount {
				result["nextCursor"] = fmt.Sprintf("page_%02d", page+1)
			}
			pages = append(pages, done(result))
		}
		return pages
	})
	return a
}
