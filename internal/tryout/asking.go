//lint:file-ignore SA1019 revision 2026-07-28 deprecates sampling, which works all the same

package tryout

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// addAskingTools adds the tools that need an answer in the middle of a call. Such a tool returns the question and is called
// again with the answer. Clients of revisions before 2026-07-28 get a request of the server instead, by the SDK.
func addAskingTools(s *sdk.Server) {
	sdk.AddTool(s, readOnly("summarize", "Summarize a text", "Summarizes a text with the help of the client's own model."), summarize)
	sdk.AddTool(s, &sdk.Tool{
		Name: "book_table", Title: "Book a table",
		Description: "Books a table at a restaurant. It asks the guest for date, time and number of people itself; " +
			"what is known of that already goes into its arguments.",
	}, bookTable)
}

// maxText bounds the text of summarize, in bytes.
const maxText = 64 << 10

type passage struct {
	Text string `json:"text" jsonschema:"the text to summarize"`
}

func summarize(_ context.Context, req *sdk.CallToolRequest, in passage) (*sdk.CallToolResult, any, error) {
	switch {
	case strings.TrimSpace(in.Text) == "":
		return nil, nil, errors.New("there is no text to summarize")
	case len(in.Text) > maxText:
		return nil, nil, fmt.Errorf("the text has %d bytes, more than %d", len(in.Text), maxText)
	}
	if c := req.ClientCapabilities(); c == nil || c.Sampling == nil {
		return nil, nil, errors.New("this tool needs a client that lends its model (sampling), and yours does not")
	}
	message, asked, err := answerTo[*sdk.CreateMessageWithToolsResult](req, "summary")
	switch {
	case err != nil:
		return nil, nil, err
	case !asked:
		return ask("summary", &sdk.CreateMessageParams{
			SystemPrompt: "Summarize the text of the user in one short sentence.",
			Messages:     []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: in.Text}}},
			MaxTokens:    200,
		}), nil, nil
	}
	var parts []string
	for _, c := range message.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	if len(parts) == 0 {
		return nil, nil, errors.New("the client's model answered without a text")
	}
	return text("Summary: " + strings.Join(parts, "\n")), nil, nil
}

// bookingForm is the schema of the form, with %s for the default of people. It is text, because its order is the order of
// the fields.
const bookingForm = `{
	"type": "object",
	"properties": {
		"date":     {"type": "string", "title": "Date", "format": "date", "description": "year-month-day"},
		"time":     {"type": "string", "title": "Time", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$", "description": "hours:minutes, such as 19:30"},
		"people":   {"type": "integer", "title": "Number of people", "minimum": 1, "maximum": 12%s},
		"seating":  {"type": "string", "title": "Where to sit", "default": "inside", "oneOf": [
			{"const": "inside", "title": "Inside"},
			{"const": "terrace", "title": "On the terrace"},
			{"const": "bar", "title": "At the bar"}]},
		"children": {"type": "boolean", "title": "With children", "default": false},
		"note":     {"type": "string", "title": "Note to the kitchen", "maxLength": 200}
	},
	"required": ["date", "time", "people"]
}`

type booking struct {
	Restaurant string `json:"restaurant,omitempty" jsonschema:"the name of the restaurant; default: the demo's own"`
	People     int    `json:"people,omitempty" jsonschema:"the number of people, from 1 to 12; default: the guest is asked"`
}

// form returns the question to the guest, with the known values.
func (b booking) form() json.RawMessage {
	people := ""
	if b.People != 0 {
		people = fmt.Sprintf(`, "default": %d`, b.People)
	}
	return json.RawMessage(fmt.Sprintf(bookingForm, people))
}

func bookTable(_ context.Context, req *sdk.CallToolRequest, in booking) (*sdk.CallToolResult, any, error) {
	name := cmp.Or(strings.TrimSpace(in.Restaurant), "Chez Démo")
	if in.People != 0 {
		if err := checkParty(float64(in.People)); err != nil {
			return nil, nil, err
		}
	}
	if c := req.ClientCapabilities(); c == nil || c.Elicitation == nil {
		return nil, nil, errors.New("this tool needs a client that shows forms (elicitation), and yours does not")
	}
	form, asked, err := answerTo[*sdk.ElicitResult](req, "booking")
	switch {
	case err != nil:
		return nil, nil, err
	case !asked:
		return ask("booking", &sdk.ElicitParams{
			Mode:            "form",
			Message:         fmt.Sprintf("When should the table at %.60s be booked?", name),
			RequestedSchema: in.form(),
		}), nil, nil
	}
	if form.Action != "accept" {
		return text("No table was booked: the guest did not fill in the form (" + form.Action + ")."), nil, nil
	}
	sentence, err := confirm(name, form.Content)
	if err != nil {
		return nil, nil, err
	}
	return text(sentence), nil, nil
}

// confirm checks the client's answer and describes the booking.
func confirm(name string, content map[string]any) (string, error) {
	var b struct {
		Date     string
		Time     string
		People   float64
		Seating  string
		Children bool
		Note     string
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	err = json.Unmarshal(raw, &b)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "", fmt.Errorf("the field %s is a %s", strings.ToLower(wrong.Field), wrong.Value)
	}
	if err == nil {
		err = checkParty(b.People)
	}
	if err != nil {
		return "", err
	}
	if _, err := time.Parse(time.DateOnly, b.Date); err != nil {
		return "", fmt.Errorf("date %.20q is not of the form 2006-01-02", b.Date)
	}
	if _, err := time.Parse("15:04", b.Time); err != nil || len(b.Time) != len("15:04") { // Parse takes 7:30, too
		return "", fmt.Errorf("time %.20q is not of the form 15:04", b.Time)
	}
	where := map[string]string{"": "inside", "inside": "inside", "terrace": "on the terrace", "bar": "at the bar"}[b.Seating]
	if where == "" {
		return "", fmt.Errorf("there is no seating %.20q", b.Seating)
	}
	s := fmt.Sprintf("Booked: a table for %v %s at %.60s on %s at %s", b.People, where, name, b.Date, b.Time)
	if b.Children {
		s += ", with children"
	}
	if b.Note != "" {
		s += fmt.Sprintf("; note: %.200s", b.Note)
	}
	return s + ".", nil
}

// checkParty returns an error for a number of people without a table.
func checkParty(people float64) error {
	if people != math.Trunc(people) || people < 1 || people > 12 {
		return fmt.Errorf("no table for %v; there are tables for 1 to 12 people", people)
	}
	return nil
}

// ask interrupts the call with one question.
func ask(key string, question sdk.InputRequest) *sdk.CallToolResult {
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{key: question}}
}

// answerTo returns the client's answer to the question of this key. asked is false in the call before the question.
func answerTo[T sdk.InputResponse](req *sdk.CallToolRequest, key string) (answer T, asked bool, err error) {
	given, asked := req.Params.InputResponses[key]
	if answer, ok := given.(T); ok || !asked {
		return answer, asked, nil
	}
	return answer, true, fmt.Errorf("the client's answer %q is not of the kind that was asked for", key)
}
