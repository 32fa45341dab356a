package mcptest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// action is a part of a response. Only the first one has a status and a header.
type action struct {
	status int
	header http.Header
	body   []byte
	end    bool // the response ends with it
	cut    bool // the connection breaks after it
}

func (s *Script) isHTTP() bool {
	return slices.ContainsFunc(s.archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "POST") })
}

func (s *Script) respond(w http.ResponseWriter, a *arrival) {
	if !s.arrive(a) {
		return
	}
	for {
		var act action
		select {
		case act = <-a.actions:
		case <-a.request.Context().Done():
			return
		case <-s.stop:
			return
		}
		maps.Copy(w.Header(), act.header)
		if act.status != 0 {
			w.WriteHeader(act.status)
		}
		_, _ = w.Write(act.body)
		switch {
		case act.cut:
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case act.end:
			return
		}
		w.(http.Flusher).Flush()
	}
}

func (s *Script) playHTTP(section *txtar.File, name, label string) error {
	switch name {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
		return s.checkRequest(section, name, label)
	}
	a := s.labels[label]
	if a == nil {
		return fmt.Errorf("no request %q before it, or no such kind of section", label)
	}
	switch name {
	case "reply", "stream":
		act, err := parseHead(section.Data)
		if err != nil {
			return err
		}
		act.end = name == "reply"
		return a.act(act)
	case "more":
		return a.act(action{body: section.Data})
	case "end":
		return a.act(action{end: true})
	case "cut":
		return a.act(action{cut: true})
	case "gone":
		select {
		case <-a.gone:
			return nil
		case <-time.After(patience):
			return errors.New("the client did not end the exchange")
		}
	}
	return errors.New("no such kind of section")
}

func (a *arrival) act(act action) error {
	select {
	case a.actions <- act:
		return nil
	case <-a.gone:
		return errors.New("the client has ended the exchange already")
	}
}

func (s *Script) checkRequest(section *txtar.File, method, label string) error {
	a, err := s.next(func(a *arrival) bool { return a.request != nil && a.request.Method == method })
	if err != nil {
		return err
	}
	s.labels[label], s.labels[""] = a, a
	if err := checkMedia(a.request); err != nil {
		s.t.Errorf("%s (%s): %v", s.path, section.Name, err)
	}
	body := a.body
	if method == http.MethodPost {
		if body, err = s.withoutMeta(body); err != nil {
			return err
		}
	}
	wantHeader, wantBody := cutHeader(section.Data)
	diff := cmp.Diff(wantHeader, comparedHeader(a.request.Header))
	if len(wantBody) > 0 || len(body) > 0 {
		diff += diffJSON(wantBody, body)
	}
	switch {
	case diff == "":
	case s.update:
		section.Data = []byte(describe(a.request, body) + "\n")
	default:
		s.t.Errorf("%s (%s): request of the client, got +, want -:\n%s", s.path, section.Name, diff)
	}
	return nil
}

func checkMedia(r *http.Request) error {
	accept, content := "", ""
	switch r.Method {
	case http.MethodPost:
		accept, content = "application/json, text/event-stream", "application/json"
	case http.MethodGet:
		accept = "text/event-stream"
	}
	if got := r.Header.Get("Accept"); got != accept {
		return fmt.Errorf("got Accept %q, want %q", got, accept)
	}
	if got := r.Header.Get("Content-Type"); got != content {
		return fmt.Errorf("got Content-Type %q, want %q", got, content)
	}
	return nil
}

// comparedHeader is the compared part of the header, one field on each line.
func comparedHeader(h http.Header) []string {
	var lines []string
	for key, values := range h {
		if strings.HasPrefix(key, "Mcp-") || key == "Last-Event-Id" || key == "Authorization" {
			for _, v := range values {
				lines = append(lines, strings.TrimSpace(key+": "+v))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func describe(r *http.Request, body []byte) string {
	lines := comparedHeader(r.Header)
	if len(body) > 0 {
		lines = append(lines, "", string(body))
	}
	return strings.Join(lines, "\n")
}

func cutHeader(data []byte) (lines []string, body []byte) {
	before, body, _ := bytes.Cut(append([]byte("\n"), data...), []byte("\n\n"))
	for line := range strings.Lines(string(before)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines, body
}

func parseHead(data []byte) (act action, err error) {
	before, body, _ := bytes.Cut(data, []byte("\n\n"))
	first, rest, _ := strings.Cut(string(before), "\n")
	status, media, _ := strings.Cut(strings.TrimSpace(first), " ")
	act = action{header: http.Header{}, body: body}
	if act.status, err = strconv.Atoi(status); err != nil {
		return act, fmt.Errorf("first line %q: want a status and a content type", first)
	}
	if media != "" {
		act.header.Set("Content-Type", media)
	}
	for line := range strings.Lines(rest) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok && line != "" {
			return act, fmt.Errorf("line %q: want a header", line)
		}
		act.header.Add(key, value)
	}
	return act, nil
}
