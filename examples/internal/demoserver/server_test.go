//lint:file-ignore SA1019 revision 2026-07-28 deprecates sampling, which works all the same

package demoserver_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/demoserver"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// answers is what the client says when the server asks.
type answers struct {
	form    *mcp.ElicitResult
	message *mcp.CreateMessageResult
	asked   []string
}

// connect joins a client of the SDK to the server, over pipes in memory. With
// no answers the client offers neither sampling nor elicitation.
func connect(t *testing.T, a *answers, progress func(*mcp.ProgressNotificationParams)) *mcp.ClientSession {
	t.Helper()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	server, err := demoserver.New().Connect(t.Context(), serverEnd, nil)
	if err != nil {
		t.Fatal(err)
	}
	opts := &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress(r.Params) },
	}
	if a != nil {
		opts.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			a.asked = append(a.asked, r.Params.Message)
			return a.form, nil
		}
		opts.CreateMessageHandler = func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			a.asked = append(a.asked, r.Params.Messages[0].Content.(*mcp.TextContent).Text)
			return a.message, nil
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), clientEnd, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		server.Wait()
	})
	return session
}

// serve runs the server for our own client. The test waits for its end.
func serve(t *testing.T) mcpclient.Transport {
	t.Helper()
	fromServer, toClient := io.Pipe()
	fromClient, toServer := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- demoserver.New().Run(context.Background(), &mcp.IOTransport{Reader: fromClient, Writer: toClient})
	}()
	t.Cleanup(func() { <-served })
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}
}

// call returns the text of a tool's result, with "error: " before it when the
// tool failed.
func call(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, c.Text)
		}
	}
	out := strings.Join(parts, "\n")
	if res.IsError {
		return "error: " + out
	}
	return out
}

func TestTools(t *testing.T) {
	s := connect(t, &answers{
		form:    &mcp.ElicitResult{Action: "accept", Content: map[string]any{"date": "2030-05-01", "time": "19:30", "people": 4, "seating": "bar", "children": true, "note": "no salt"}},
		message: &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "short"}},
	}, nil)
	for _, tt := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"add", map[string]any{"a": 17, "b": 25}, "17 + 25 = 42"},
		{"multiply", map[string]any{"a": 1.5, "b": -2}, "1.5 × -2 = -3"},
		{"weather", map[string]any{"city": " berlin"}, "Berlin: 18 °C, light rain"},
		{"weather", map[string]any{"city": "Atlantis"}, `error: no weather for "Atlantis"; try one of Berlin, Lima, Lisbon, Nairobi, Oslo, Tokyo`},
		{"count", map[string]any{"to": 0}, "error: cannot count to 0; choose a number from 1 to 1000"},
		{"count", map[string]any{"to": 1001}, "error: cannot count to 1001; choose a number from 1 to 1000"},
		{"picture", nil, "a sunset over the sea"},
		{"summarize", map[string]any{"text": "long"}, "Summary: short"},
		{"summarize", map[string]any{"text": " "}, "error: there is no text to summarize"},
		{"summarize", map[string]any{"text": strings.Repeat("x", 65537)}, "error: the text has 65537 bytes, more than 65536"},
		{"book_table", map[string]any{"people": 13}, "error: no table for 13; there are tables for 1 to 12 people"},
		{"book_table", nil, "Booked: a table for 4 at the bar at Chez Démo on 2030-05-01 at 19:30, with children; note: no salt."},
	} {
		if got := call(t, s, tt.tool, tt.args); got != tt.want {
			t.Errorf("%s %v:\ngot  %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
	}
}

func TestBooking(t *testing.T) {
	for name, tt := range map[string]struct {
		form *mcp.ElicitResult
		want string
	}{
		"declined":  {&mcp.ElicitResult{Action: "decline"}, "No table was booked: the guest did not fill in the form (decline)."},
		"cancelled": {&mcp.ElicitResult{Action: "cancel"}, "No table was booked: the guest did not fill in the form (cancel)."},
		"defaults": {
			&mcp.ElicitResult{Action: "accept", Content: map[string]any{"date": "2030-05-01", "time": "19:30", "people": 2}},
			"Booked: a table for 2 inside at Chez Démo on 2030-05-01 at 19:30.",
		},
		"bad time": {
			&mcp.ElicitResult{Action: "accept", Content: map[string]any{"date": "2030-05-01", "time": "25:00", "people": 2}},
			`error: time "25:00" is not of the form 15:04`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := &answers{form: tt.form}
			if got := call(t, connect(t, a, nil), "book_table", nil); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if diff := cmp.Diff([]string{"When should the table at Chez Démo be booked?"}, a.asked); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// What the call says already is the default of the form.
func TestBookingForSoMany(t *testing.T) {
	for people, want := range map[int]string{0: "default: <nil>", 4: "default: 4"} {
		client, err := mcpclient.Connect(t.Context(), serve(t), &mcpclient.Options{
			Elicitation: mcpclient.ElicitationFunc(func(_ context.Context, p *mcpclient.ElicitParams) (*mcpclient.ElicitResult, error) {
				fields, err := p.Fields()
				if err != nil {
					return nil, err
				}
				i := slices.IndexFunc(fields, func(f *mcpclient.Field) bool { return f.Name == "people" })
				if got := fmt.Sprintf("default: %v", fields[i].Default); got != want {
					t.Errorf("people: %d: got %s, want %s", people, got, want)
				}
				return &mcpclient.ElicitResult{Action: "decline"}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.CallTool(t.Context(), "book_table", map[string]any{"people": people})
		if err != nil || !strings.Contains(res.Text(), "(decline)") {
			t.Errorf("got %+v, %v; want a form that was declined", res, err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A server must not ask for what the client did not declare.
func TestPlainClient(t *testing.T) {
	s := connect(t, nil, nil)
	if got, want := call(t, s, "summarize", map[string]any{"text": "x"}), "error: this tool needs a client that lends its model (sampling), which yours does not"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := call(t, s, "book_table", nil), "error: this tool needs a client that shows forms (elicitation), which yours does not"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Clients of older revisions are asked by requests of the server's own.
func TestLegacyClient(t *testing.T) {
	client, err := mcpclient.Connect(t.Context(), serve(t), &mcpclient.Options{
		Protocol: mcpclient.Protocol{Revision: "2025-06-18"},
		Sampling: mcpclient.SamplingFunc(func(_ context.Context, p *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
			return &mcpclient.CreateMessageResult{Model: "m", Content: p.Messages[0].Content}, nil
		}),
		Elicitation: mcpclient.ElicitationFunc(func(context.Context, *mcpclient.ElicitParams) (*mcpclient.ElicitResult, error) {
			return &mcpclient.ElicitResult{Action: "cancel"}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]string{
		"summarize":  "Summary: echo",
		"book_table": "No table was booked: the guest did not fill in the form (cancel).",
	} {
		args := map[string]any{"text": "echo"}
		if tool == "book_table" {
			args = nil
		}
		res, err := client.CallTool(t.Context(), tool, args)
		if err != nil || res.Text() != want {
			t.Errorf("%s: got %+v, %v; want %s", tool, res, err, want)
		}
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}

func TestProgress(t *testing.T) {
	notices := make(chan string, 3)
	s := connect(t, nil, func(p *mcp.ProgressNotificationParams) { notices <- p.Message })
	params := &mcp.CallToolParams{Name: "count", Arguments: map[string]any{"to": 3}}
	params.SetProgressToken("p")
	if _, err := s.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"counted to 1", "counted to 2", "counted to 3"} {
		if got := <-notices; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPicture(t *testing.T) {
	res, err := connect(t, nil, nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "picture"})
	if err != nil {
		t.Fatal(err)
	}
	img, ok := res.Content[1].(*mcp.ImageContent)
	if !ok || img.MIMEType != "image/png" {
		t.Fatalf("got %#v, want a PNG", res.Content[1])
	}
	if _, err := png.Decode(bytes.NewReader(img.Data)); err != nil {
		t.Error(err)
	}
}

func TestOffers(t *testing.T) {
	s := connect(t, nil, nil)
	res, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "demo://menu"})
	if err != nil || !strings.Contains(res.Contents[0].Text, "Lemon tart") {
		t.Errorf("resource: got %+v, %v", res, err)
	}
	for people, want := range map[string]string{
		"":  "What is the weather in Oslo? Then book a table.",
		"4": "What is the weather in Oslo? Then book a table for 4.",
	} {
		prompt, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "evening", Arguments: map[string]string{"city": "Oslo", "people": people}})
		if err != nil {
			t.Fatal(err)
		}
		if got := prompt.Messages[0].Content.(*mcp.TextContent).Text; got != want {
			t.Errorf("prompt for %q: got %q, want %q", people, got, want)
		}
	}
}
