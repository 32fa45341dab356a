package cost

import (
	"math"
	"testing"

	"github.com/mcpchain/mcpchain/price"
)

func TestAffords(t *testing.T) {
	plain := price.Price{Currency: "USD", Input: 1_000_000, Output: 2_000_000}
	full := price.Price{Currency: "USD", Input: 1_000_000, CacheWrite: 1_500_000, Output: 2_000_000, Reasoning: 3_000_000}
	tiny := price.Price{Currency: "USD", Input: 1, Output: 1}
	for _, tt := range []struct {
		price        price.Price
		micro, input int64
		want         int64
	}{
		{plain, 0, 0, 0},
		{plain, 100, 100, 0},
		{plain, 99, 100, -1},
		{plain, 105, 100, 2},
		{plain, -1, 0, -1},
		{full, 210, 100, 20},
		{tiny, 1, 0, 1_000_000},
		{tiny, math.MaxInt64, 1, maxTokens},
		{price.Price{Currency: "USD"}, 0, 1 << 40, maxTokens},
	} {
		got := Affords(tt.price, tt.micro, tt.input)
		if got != tt.want {
			t.Errorf("%+v: %d micro after %d tokens of input: got %d, want %d", tt.price, tt.micro, tt.input, got, tt.want)
		}
		if most := Most(tt.price, tt.input, got); got >= 0 && most.Micro > tt.micro {
			t.Errorf("%+v: %d tokens cost %v, and there are %d", tt.price, got, most, tt.micro)
		}
	}
}
