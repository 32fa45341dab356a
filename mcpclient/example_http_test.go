package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

func ExampleClient_AddToolDefinitions() {
	server := library(map[string]string{"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`})
	client, err := mcpclient.Connect(context.Background(), server, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	err = client.AddToolDefinitions(&mcp.Tool{
		Name:        "report",
		InputSchema: json.RawMessage(`{"properties":{"region":{"type":["string","null"],"x-mcp-header":"Region"}}}`),
	})
	fmt.Println(err)
	// Output:
	// tool "report": inputSchema.properties.region: x-mcp-header "Region" needs the type string, integer or boolean, and has ["string","null"]
}

// A wrapped transport logs each message over HTTP with its method, status and size, in either era.
func ExampleHTTP_wrapTransport() {
	for _, revision := range []string{mcp.Revision20260728, mcp.Revision20251125} {
		server := httptest.NewServer(http.HandlerFunc(answerOverHTTP))
		client, err := mcpclient.Connect(context.Background(), &mcpclient.HTTP{
			URL:           server.URL,
			WrapTransport: func(next http.RoundTripper) http.RoundTripper { return logging{next} },
		}, &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}})
		if err != nil {
			log.Fatal(err)
		}
		for _, err := range client.Tools(context.Background()) {
			fmt.Println(err)
		}
		_ = client.Close()
		server.Close()
	}
	// Output:
	// server/discover 200
	// tools/list 200
	// initialize 200
	// notifications/initialized 202
	// tools/list 200
}

// The token is renewed when the server refuses it, and a RoundTripper sees each HTTP request.
func ExampleBearer() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer fresh" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answerOverHTTP(w, r)
	}))
	defer server.Close()

	token := new(transport.Bearer)
	token.Refused = func(context.Context, *transport.Refusal) error { return token.Renew("fresh") }
	client, err := mcpclient.Connect(context.Background(), &mcpclient.HTTP{
		URL:           server.URL,
		Token:         token,
		WrapTransport: func(next http.RoundTripper) http.RoundTripper { return logging{next} },
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for _, err := range client.Tools(context.Background()) {
		fmt.Println(err)
	}
	// Output:
	// server/discover 401
	// server/discover 200
	// tools/list 200
}

// answerOverHTTP is a server of both eras without tools.
func answerOverHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct{ ID json.RawMessage }
	if _ = json.NewDecoder(r.Body).Decode(&m); m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},"capabilities":{"tools":{}},"tools":[]}}`, m.ID)
}

// logging prints the status of each message. The message comes from GetBody; the client reads the body of the response.
type logging struct{ next http.RoundTripper }

func (l logging) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err != nil || r.GetBody == nil {
		return resp, err
	}
	body, err := r.GetBody()
	if err != nil {
		return resp, nil // the response is good
	}
	var m struct{ Method string }
	if json.NewDecoder(body).Decode(&m) == nil {
		fmt.Println(m.Method, resp.StatusCode)
	}
	return resp, nil
}

// A server that is known to be old is reached directly over HTTP+SSE.
func ExampleHTTP_sse() {
	_, err := mcpclient.Connect(context.Background(), &mcpclient.HTTP{URL: "example.com/sse", SSE: true}, nil)
	fmt.Println(err)
	// Output:
	// connect: HTTP.URL "example.com/sse": want http://host/path or https://host/path
}

// One middleware records the calls, and another within it allows only tools that read.
func ExampleMiddleware() {
	account := func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
			result, err := next(ctx, r)
			fmt.Println(strings.TrimSpace(r.Method+" "+r.Name), "→", err)
			return result, err
		}
	}
	readOnly := func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
			if r.Method == "tools/call" && !strings.HasPrefix(r.Name, "read_") {
				return nil, errors.New("not allowed")
			}
			return next(ctx, r)
		}
	}
	server := library(map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
		"tools/call":      `{"content":[]}`,
	})
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, server, &mcpclient.Options{Middleware: []mcpclient.Middleware{account, readOnly}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	for _, tool := range []string{"read_mail", "send_mail"} {
		if _, err := client.CallTool(ctx, tool, nil); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// server/discover → <nil>
	// tools/call read_mail → <nil>
	// tools/call send_mail → not allowed
	// call tool "send_mail": not allowed
}

// mortal is a server that can be dialed again when its last connection has ended.
type mortal struct {
	last transport.Conn
}

func (m *mortal) Dial(ctx context.Context) (conn transport.Conn, err error) {
	m.last, err = exampleServer().Dial(ctx)
	return m.last, err
}

func ExampleOptions_restarts() {
	ctx := context.Background()
	server := new(mortal) // for example an mcpclient.Command
	events := make(chan string, 2)
	client, err := mcpclient.Connect(ctx, server, &mcpclient.Options{
		Limits: mcpclient.Limits{Restarts: 5},
		OnRestart: func(attempt int, err error) {
			if err == nil {
				events <- "up again"
			} else {
				events <- fmt.Sprint("attempt ", attempt)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	server.last.Close() // it dies
	fmt.Println(<-events)
	fmt.Println(<-events)
	result, err := client.CallTool(ctx, "forecast", nil)
	if errors.Is(err, mcpclient.ErrConnectionLost) {
		log.Fatal("it was under way when the connection ended: ", err)
	}
	fmt.Println(result.Text(), err)
	// Output:
	// attempt 1
	// up again
	// Sunny, 21 degrees <nil>
}
