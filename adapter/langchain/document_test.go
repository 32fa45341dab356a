package langchain

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/textsplitter"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Loader has the methods of documentloaders.Loader. That package is not imported, because it
// links the libraries of all its loaders, such as speech and PDF.
var _ interface {
	Load(ctx context.Context) ([]schema.Document, error)
	LoadAndSplit(ctx context.Context, splitter textsplitter.TextSplitter) ([]schema.Document, error)
} = (*Loader)(nil)

// connect connects to a server of the official SDK.
func connect(t *testing.T, server *sdk.Server) *mcpclient.Client {
	t.Helper()
	client := check.Value(mcpclient.Connect(t.Context(), peer.Connect(t, server), nil))(t)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// serve returns a client of a server with resources, given by URI.
func serve(t *testing.T, contents ...*sdk.ResourceContents) *mcpclient.Client {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, nil)
	for _, c := range contents {
		server.AddResource(&sdk.Resource{Name: c.URI, URI: c.URI}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
		})
	}
	return connect(t, server)
}

// wordsSplitter splits a text into pieces of that many words.
type wordsSplitter int

func (n wordsSplitter) SplitText(text string) ([]string, error) {
	if n == 0 {
		return nil, errors.New("no words")
	}
	var out []string
	for piece := range slices.Chunk(strings.Fields(text), int(n)) {
		out = append(out, strings.Join(piece, " "))
	}
	return out, nil
}

func three(t *testing.T) *mcpclient.Client {
	return serve(t,
		&sdk.ResourceContents{URI: "a:1", MIMEType: "text/plain", Text: strings.Repeat("word ", 30)},
		&sdk.ResourceContents{URI: "a:2", MIMEType: "application/json; charset=utf-8", Blob: []byte(`{"a":1}`)},
		&sdk.ResourceContents{URI: "a:3", MIMEType: "image/png", Blob: []byte{0x89, 'P'}},
	)
}

func TestLoad(t *testing.T) {
	client := three(t)
	got := check.Value((&Loader{Client: client}).Load(t.Context()))(t)
	want := []schema.Document{
		{PageContent: strings.Repeat("word ", 30), Metadata: map[string]any{"source": "a:1", "uri": "a:1", "mime_type": "text/plain"}},
		{PageContent: `{"a":1}`, Metadata: map[string]any{"source": "a:2", "uri": "a:2", "mime_type": "application/json; charset=utf-8"}},
		{Metadata: map[string]any{"source": "a:3", "uri": "a:3", "mime_type": "image/png", "data": []byte{0x89, 'P'}}},
	}
	check.Same(t, "documents", got, want)
	got = check.Value((&Loader{Client: client, URIs: []string{"a:2"}}).Load(t.Context()))(t)
	check.Same(t, "the resource that was named", got, want[1:2])
}

func TestLoadAndSplit(t *testing.T) {
	got, err := (&Loader{Client: three(t)}).LoadAndSplit(t.Context(), wordsSplitter(10))
	check.Must(t, err)
	check.That(t, len(got) == 4 && got[0].Metadata["source"] == "a:1" && got[3].PageContent == `{"a":1}`,
		"got %v, want three pieces of the first and one of the second", got)
	theirs := textsplitter.NewRecursiveCharacter(textsplitter.WithChunkSize(60), textsplitter.WithChunkOverlap(0))
	got, err = (&Loader{Client: three(t)}).LoadAndSplit(t.Context(), theirs)
	check.That(t, err == nil && len(got) == 4, "got %v, %v, want three pieces and one from langchaingo's splitter", got, err)
	check.Text(t, check.Err((&Loader{Client: three(t)}).LoadAndSplit(t.Context(), wordsSplitter(0))), `split resource "a:1": no words`)
}

func TestLoadIsBounded(t *testing.T) {
	client := three(t)
	for want, l := range map[string]*Loader{
		"more than 2 documents":      {Client: client, maxDocuments: 2},
		"more than 1 documents":      {Client: client, maxDocuments: 1, URIs: []string{"a:1", "a:2"}},
		"more than 155 bytes in all": {Client: client, maxBytes: 155},
		"not found":                  {Client: client, URIs: []string{"a:4"}},
		"set Loader.Client":          {},
	} {
		check.Text(t, check.Err(l.Load(t.Context())), want)
		check.Text(t, check.Err(l.LoadAndSplit(t.Context(), nil)), "", want)
	}
}

func TestTextThatIsNone(t *testing.T) {
	got := Documents(&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "u", MIMEType: "text/plain", Blob: []byte{0xff}}, {URI: "v", Blob: []byte{}}}})
	check.That(t, got[0].PageContent == "" && got[0].Metadata["data"] != nil && got[1].Metadata["data"] != nil,
		"got %v, want bytes that are not text kept as they are", got)
}
