package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// The floor is the least code for the exchange: it appends a request byte by
// byte, matches the response by its id, and decodes text, or tools with their
// schemas left raw, by one Unmarshal. It negotiates, validates, bounds and retries nothing.

// floorMessage holds the parts of a response that the floor needs.
type floorMessage struct {
	ID     int64       `json:"id"`
	Result floorResult `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

type floorResult struct {
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	IsError    bool        `json:"isError"`
	Tools      []floorTool `json:"tools"`
	NextCursor string      `json:"nextCursor"`
}

type floorTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

// floorRequest is a request without its id.
type floorRequest struct {
	method string
	tool   string // tool to call
	cursor string // cursor of a page
	modern bool
}

const (
	floorInfo       = `{"name":"` + clientName + `","version":"` + clientVersion + `"}`
	floorInitialize = `"protocolVersion":"` + legacy + `","clientInfo":` + floorInfo + `,"capabilities":{}`
	floorMeta       = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern +
		`","io.modelcontextprotocol/clientInfo":` + floorInfo + `,"io.modelcontextprotocol/clientCapabilities":{}}`
)

// appendTo appends the request as JSON, as a notification if the id is zero.
func (r *floorRequest) appendTo(b []byte, id int64) []byte {
	b = append(b, `{"jsonrpc":"2.0",`...)
	if id != 0 {
		b = append(strconv.AppendInt(append(b, `"id":`...), id, 10), ',')
	}
	b = append(append(append(b, `"method":"`...), r.method...), `","params":{`...)
	switch {
	case r.method == "initialize":
		b = append(b, floorInitialize...)
	case r.tool != "":
		b = append(append(append(b, `"name":"`...), r.tool...), `","arguments":`...)
		b = append(b, arguments...)
	case r.cursor != "":
		b = append(append(append(b, `"cursor":"`...), r.cursor...), '"')
	}
	if r.modern {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(b, floorMeta...)
	}
	return append(b, `}}`...)
}

// exchanger carries one request to the responder and brings the response back; a notification has none.
type exchanger interface {
	exchange(context.Context, floorRequest) (*floorMessage, error)
	notify(context.Context, floorRequest) error
	close() error
}

// floorSession is a session of the floor over any transport.
type floorSession struct {
	exchanger
	modern bool
}

// dialFloor opens a session of the floor over the endpoint.
func dialFloor(ctx context.Context, e endpoint) (_ session, err error) {
	x, err := floorExchanger(e)
	if err != nil {
		return nil, err
	}
	s := &floorSession{x, e.revision == modern}
	defer func() {
		if err != nil {
			_ = s.close()
		}
	}()
	if s.modern {
		_, err = s.ask(ctx, floorRequest{method: "server/discover"})
		return s, err
	}
	if _, err := s.ask(ctx, floorRequest{method: "initialize"}); err != nil {
		return nil, err
	}
	return s, s.notify(ctx, floorRequest{method: "notifications/initialized"})
}

func floorExchanger(e endpoint) (exchanger, error) {
	switch {
	case e.url != "":
		return &floorHTTP{url: e.url, http: cmp.Or(e.httpClient, sharedClient)}, nil // it has no client of its own
	case e.command != nil:
		return newFloorCommand(e.command)
	}
	return newFloorStream(e.reader, e.writer, e.reader.Close), nil
}

func (s *floorSession) ask(ctx context.Context, r floorRequest) (*floorResult, error) {
	r.modern = s.modern
	m, err := s.exchange(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case m.Error != nil:
		return nil, fmt.Errorf("%s: %d %s", r.method, m.Error.Code, m.Error.Message)
	}
	return &m.Result, nil
}

func (s *floorSession) call(ctx context.Context, tool string) (string, error) {
	r, err := s.ask(ctx, floorRequest{method: "tools/call", tool: tool})
	switch {
	case err != nil:
		return "", err
	case len(r.Content) != 1 || r.IsError:
		return "", errNotText
	}
	return r.Content[0].Text, nil
}

func (s *floorSession) list(ctx context.Context) (int, error) {
	var tools []floorTool
	for cursor := ""; ; {
		r, err := s.ask(ctx, floorRequest{method: "tools/list", cursor: cursor})
		if err != nil {
			return 0, err
		}
		tools = append(tools, r.Tools...)
		cursor = r.NextCursor
		if cursor == "" {
			return len(tools), nil
		}
	}
}
