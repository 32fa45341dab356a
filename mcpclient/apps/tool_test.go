package apps_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestOfTool(t *testing.T) {
	long := "ui://" + strings.Repeat("x", 3000)
	for _, tt := range []struct {
		meta string
		want apps.Tool
		bad  bool
	}{
		{``, apps.Tool{ForModel: true, ForViews: true}, false},
		{`{}`, apps.Tool{ForModel: true, ForViews: true}, false},
		{`{"ui":{}}`, apps.Tool{ForModel: true, ForViews: true}, false},
		{`{"ui":null}`, apps.Tool{ForModel: true, ForViews: true}, false},
		{`{"ui":"x"}`, apps.Tool{ForModel: true, ForViews: true}, false},
		{`{"ui":{"resourceUri":"ui://s/v","visibility":null}}`, apps.Tool{"ui://s/v", true, true}, false},
		{`{"ui":{"resourceUri":"ui://s/v","visibility":["app"]}}`, apps.Tool{"ui://s/v", false, true}, false},
		{`{"ui":{"visibility":["model","x"]}}`, apps.Tool{ForModel: true}, false},
		{`{"ui":{"visibility":["app","model"]}}`, apps.Tool{ForModel: true, ForViews: true}, false},
		{`{"ui":{"visibility":[]}}`, apps.Tool{}, false},
		{`{"ui":{"visibility":["Model"]}}`, apps.Tool{}, false},
		{`{"ui":{"Visibility":["app"]}}`, apps.Tool{ForModel: true, ForViews: true}, false},
		{`{"ui":{"visibility":["model"]},"ui":{"visibility":["app"]}}`, apps.Tool{ForViews: true}, false},
		{`{"\u0075i":{"visibility":["app"]}}`, apps.Tool{ForViews: true}, false},
		{`{"ui":{"visibility":"app"}}`, apps.Tool{}, true},
		{`{"ui":{"visibility":[1]}}`, apps.Tool{}, true},
		{`{"ui":{"visibility":{"app":true}}}`, apps.Tool{}, true},
		{`{"ui/resourceUri":"ui://s/old"}`, apps.Tool{"ui://s/old", true, true}, false},
		{`{"ui/resourceUri":"ui://s/old","ui":{"resourceUri":"ui://s/new"}}`, apps.Tool{"ui://s/new", true, true}, false},
		{`{"ui":{"resourceUri":"https://example.com/"}}`, apps.Tool{ForModel: true, ForViews: true}, true},
		{`{"ui":{"resourceUri":"UI://s/v"}}`, apps.Tool{ForModel: true, ForViews: true}, true},
		{`{"ui":{"resourceUri":7}}`, apps.Tool{ForModel: true, ForViews: true}, true},
		{`{"ui":{"resourceUri":"` + long + `"}}`, apps.Tool{ForModel: true, ForViews: true}, true},
	} {
		got, err := apps.OfTool(&mcp.Tool{Meta: json.RawMessage(tt.meta)})
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%.80s: got %+v and %v, want %+v", tt.meta, got, err, tt.want)
		}
	}
}
