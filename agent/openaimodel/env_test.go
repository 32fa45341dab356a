package openaimodel_test

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent/openaimodel"
)

func TestFromEnv(t *testing.T) {
	for _, tt := range []struct{ name, key, base, want string }{
		{"", "k", "", "OPENAI_MODEL is not set"}, {"m", "", "", "neither OPENAI_API_KEY nor OPENAI_BASE_URL"},
		{"m", "k", "", ""}, {"m", "", "http://localhost:11434/v1", ""}, {"m", "", "ftp://h", "want http://host/path"},
	} {
		t.Setenv("OPENAI_MODEL", tt.name)
		t.Setenv("OPENAI_API_KEY", tt.key)
		t.Setenv("OPENAI_BASE_URL", tt.base)
		m, err := openaimodel.FromEnv()
		if tt.want == "" && (err != nil || m.Info().Name != "m") || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: got %v", tt, err)
		}
	}
}
