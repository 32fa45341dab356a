package main

import (
	"errors"
	"net/http"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/examples/internal/demomodel"
)

// endpoint is the address of the model.
type endpoint struct {
	config openai.ClientConfig
	model  string
	url    string // to show; empty for the demo model
	close  func() error
}

// openModel uses the endpoint of the options, or starts the demo model.
func openModel(o *options, con *console) (*endpoint, error) {
	if o.model != "" {
		con.note(con.style.faint, "model: %s at %s", o.model, publicURL(o.baseURL))
		cfg := openai.DefaultConfig(o.apiKey)
		cfg.BaseURL = o.baseURL
		return &endpoint{config: cfg, model: o.model, url: publicURL(o.baseURL), close: func() error { return nil }}, nil
	}
	if o.modelHint != "" {
		con.note(con.style.warn, "%s: the demo model is used", o.modelHint)
	}
	demo, err := demomodel.Start()
	if err != nil {
		return nil, err
	}
	con.note(con.style.faint, "model: this is a demo model that follows fixed rules; -base-url and -model name a real one")
	cfg := openai.DefaultConfig("")
	cfg.BaseURL = demo.BaseURL
	return &endpoint{config: cfg, model: demomodel.Name, close: demo.Close}, nil
}

// hint explains a likely mistake in the base URL after a 404.
func (e *endpoint) hint(err error) string {
	failure, ok := errors.AsType[*openaimodel.Error](err)
	if !ok || failure.Status != http.StatusNotFound || e.url == "" {
		return ""
	}
	hint := "; the address is " + e.url + "/chat/completions"
	if !strings.HasSuffix(e.url, "/v1") {
		hint += ": does -base-url lack /v1?"
	}
	return hint
}
