package tryout

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The form refuses a time that no clock has, and so does the tool for a client that does not check forms.
func TestBookingTime(t *testing.T) {
	form := &mcp.ElicitParams{Mode: mcp.ElicitForm, RequestedSchema: booking{}.form()}
	for time, right := range map[string]bool{
		"19:30": true, "00:00": true, "09:05": true, "23:59": true,
		"25:99": false, "24:00": false, "12:60": false, "7:30": false, "19:30:00": false, "at 19:30": false, "": false,
	} {
		content := map[string]any{"date": "2030-05-01", "time": time, "people": 2}
		_, err := forms.Complete(form, &mcp.ElicitResult{Action: "accept", Content: content})
		check.That(t, (err == nil) == right && (err == nil || strings.Contains(err.Error(), `field "time"`)),
			"the form with %q: got %v, want it taken: %t", time, err, right)
		_, err = confirm("x", content)
		check.That(t, (err == nil) == right && (err == nil || strings.HasPrefix(err.Error(), "time ")), "the tool with %q: got %v, want it taken: %t", time, err, right)
	}
}

// The number of people is checked as the form says, too.
func TestBookingPeople(t *testing.T) {
	for _, tt := range []struct {
		people any
		wrong  string
	}{{1, ""}, {12, ""}, {0, "no table for 0"}, {13, "no table for 13"}, {2.5, "no table for 2.5"}, {"two", "the field people is a string"}, {nil, "no table for 0"}} {
		_, err := confirm("x", map[string]any{"date": "2030-05-01", "time": "19:30", "people": tt.people})
		if tt.wrong == "" {
			check.NoError(t, err, tt.people)
		} else {
			check.Text(t, err, tt.wrong, tt.people)
		}
	}
}
