package agent

import "testing"

func TestStreamPolicyInWords(t *testing.T) {
	for want, policy := range map[string]StreamPolicy{
		"auto": StreamAuto, "always": StreamAlways, "never": StreamNever, "StreamPolicy(-1)": StreamPolicy(-1),
	} {
		if got := policy.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
