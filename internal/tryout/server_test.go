//lint:file-ignore SA1019 revision 2026-07-28 deprecates sampling, which works all the same

package tryout_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// answers are the client's answers to the server's questions.
type answers struct {
	form    *sdk.ElicitResult
	message *sdk.CreateMessageResult
	asked   []string
}

// connect joins a client of the SDK to the server, over pipes in memory. With
// no answers the client offers neither sampling nor elicitation.
func connect(t *testing.T, a *answers, progress func(*sdk.ProgressNotificationParams)) *sdk.ClientSession {
	t.Helper()
	clientEnd, serverEnd := sdk.NewInMemoryTransports()
	server := check.Value(tryout.NewServer().Connect(t.Context(), serverEnd, nil))(t)
	opts := &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress(r.Params) }}
	if a != nil {
		opts.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			a.asked = append(a.asked, r.Params.Message)
			return a.form, nil
		}
		opts.CreateMessageHandler = func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			a.asked = append(a.asked, r.Params.Messages[0].Content.(*sdk.TextContent).Text)
			return a.message, nil
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opts)
	session := check.Value(client.Connect(t.Context(), clientEnd, nil))(t)
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
		served <- tryout.NewServer().Run(context.Background(), &sdk.IOTransport{Reader: fromClient, Writer: toClient})
	}()
	t.Cleanup(func() { <-served })
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}
}

// call returns the text of a tool's result, with "error: " before it if the tool failed.
func call(t *testing.T, s *sdk.ClientSession, name string, args map[string]any) string {
	t.Helper()
	res := check.Value(s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args}))(t)
	parts := slices.DeleteFunc(res.Content, func(c sdk.Content) bool { _, isText := c.(*sdk.TextContent); return !isText })
	check.Require(t, len(parts) == 1, "%s: got %d texts, want one", name, len(parts))
	out := parts[0].(*sdk.TextContent).Text
	if res.IsError {
		return "error: " + out
	}
	return out
}

func TestTools(t *testing.T) {
	s := connect(t, &answers{
		form:    &sdk.ElicitResult{Action: "accept", Content: map[string]any{"date": "2030-05-01", "time": "19:30", "people": 4, "seating": "bar", "children": true, "note": "no salt"}},
		message: &sdk.CreateMessageResult{Model: "m", Role: "assistant", Content: &sdk.TextContent{Text: "short"}},
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
		check.Equal(t, fmt.Sprint(tt.tool, tt.args), call(t, s, tt.tool, tt.args), tt.want)
	}
}

func TestBooking(t *testing.T) {
	form := func(date string) *sdk.ElicitResult {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"date": date, "time": "19:30", "people": 2}}
	}
	for name, tt := range map[string]struct {
		form *sdk.ElicitResult
		want string
	}{
		"declined":  {&sdk.ElicitResult{Action: "decline"}, "No table was booked: the guest did not fill in the form (decline)."},
		"cancelled": {&sdk.ElicitResult{Action: "cancel"}, "No table was booked: the guest did not fill in the form (cancel)."},
		"defaults":  {form("2030-05-01"), "Booked: a table for 2 inside at Chez Démo on 2030-05-01 at 19:30."},
		"bad date":  {form("2030-02-30"), `error: date "2030-02-30" is not of the form 2006-01-02`},
	} {
		a := &answers{form: tt.form}
		check.Equal(t, name, call(t, connect(t, a, nil), "book_table", nil), tt.want)
		check.Same(t, name, a.asked, []string{"When should the table at Chez Démo be booked?"})
	}
}

// Values in the call are the form's defaults.
func TestBookingForSoMany(t *testing.T) {
	for people, want := range map[int]string{0: "default: <nil>", 4: "default: 4"} {
		client := check.Value(mcpclient.Connect(t.Context(), serve(t), &mcpclient.Options{
			Elicitation: mcp.ElicitationFunc(func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				fields, err := forms.Fields(p)
				if err != nil {
					return nil, err
				}
				i := slices.IndexFunc(fields, func(f *forms.Field) bool { return f.Name == "people" })
				check.Equal(t, people, fmt.Sprintf("default: %v", fields[i].Default), want)
				return &mcp.ElicitResult{Action: "decline"}, nil
			}),
		}))(t)
		res := check.Value(client.CallTool(t.Context(), "book_table", map[string]any{"people": people}))(t)
		check.Contains(t, "a form that was declined", res.Text(), "(decline)")
		check.NoError(t, client.Close())
	}
}

// A server must not use undeclared features of the client.
func TestPlainClient(t *testing.T) {
	s := connect(t, nil, nil)
	const needs = "error: this tool needs a client that "
	check.Equal(t, "", call(t, s, "summarize", map[string]any{"text": "x"}), needs+"lends its model (sampling), and yours does not")
	check.Equal(t, "", call(t, s, "book_table", nil), needs+"shows forms (elicitation), and yours does not")
}

// Clients of older revisions get requests of the server.
func TestLegacyClient(t *testing.T) {
	client := check.Value(mcpclient.Connect(t.Context(), serve(t), &mcpclient.Options{
		Protocol: mcpclient.Protocol{Revision: "2025-06-18"},
		Sampling: mcp.SamplingFunc(func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "m", Content: p.Messages[0].Content}, nil
		}),
		Elicitation: mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "cancel"}, nil
		}),
	}))(t)
	summary := check.Value(client.CallTool(t.Context(), "summarize", map[string]any{"text": "echo"}))(t)
	check.Equal(t, "", summary.Text(), "Summary: echo")
	booking := check.Value(client.CallTool(t.Context(), "book_table", nil))(t)
	check.Equal(t, "", booking.Text(), "No table was booked: the guest did not fill in the form (cancel).")
	check.NoError(t, client.Close())
}

func TestProgress(t *testing.T) {
	notices := make(chan string, 3)
	s := connect(t, nil, func(p *sdk.ProgressNotificationParams) { notices <- p.Message })
	params := &sdk.CallToolParams{Name: "count", Arguments: map[string]any{"to": 3}}
	params.SetProgressToken("p")
	check.Must(t, check.Err(s.CallTool(t.Context(), params)))
	for _, want := range []string{"counted to 1", "counted to 2", "counted to 3"} {
		check.Equal(t, "", <-notices, want)
	}
}

func TestPicture(t *testing.T) {
	res := check.Value(connect(t, nil, nil).CallTool(t.Context(), &sdk.CallToolParams{Name: "picture"}))(t)
	img, ok := res.Content[1].(*sdk.ImageContent)
	check.Require(t, ok && img.MIMEType == "image/png", "got %#v, want a PNG", res.Content[1])
	check.NoError(t, check.Err(png.Decode(bytes.NewReader(img.Data))))
}

func TestOffers(t *testing.T) {
	s := connect(t, nil, nil)
	res := check.Value(s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "demo://menu"}))(t)
	check.Contains(t, "resource", res.Contents[0].Text, "Lemon tart")
	for people, want := range map[string]string{"": "What is the weather in Oslo? Then book a table.", "4": "What is the weather in Oslo? Then book a table for 4."} {
		prompt, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "evening", Arguments: map[string]string{"city": "Oslo", "people": people}})
		check.Must(t, err)
		check.Equal(t, people, prompt.Messages[0].Content.(*sdk.TextContent).Text, want)
	}
}

// A part of the name of a dish finds it, in either case, and escaped as clients expand the template.
func TestDishes(t *testing.T) {
	s := connect(t, nil, nil)
	for name, on := range map[string]bool{"Lemon%20tart": true, "soup%20of%20the%20day": true, "soup": true, "menu": false, "%0A": false} {
		check.Equal(t, name, check.Err(s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "demo://dish/" + name})) == nil, on)
	}
}
