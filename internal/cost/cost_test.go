package cost

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/price"
)

func TestCost(t *testing.T) {
	mini := price.Price{Model: "mini", Currency: "USD", Input: 250_000, Output: 2_000_000}
	full := price.Price{Model: "full", Currency: "EUR", Input: 3_000_000, Cached: 300_000, CacheWrite: 3_750_000, Output: 15_000_000, Reasoning: 5_000_000}
	dear := price.Price{Model: "dear", Currency: "USD", Input: maxPrice, Output: maxPrice}
	for _, test := range []struct {
		price price.Price
		usage Tokens
		want  int64
	}{
		{mini, Tokens{}, 0},
		{mini, Tokens{Input: 1_000_000, Output: 1_000_000}, 2_250_000},
		{mini, Tokens{Input: 1}, 1},            // a quarter, rounded up
		{mini, Tokens{Input: 1, Output: 1}, 3}, // 2.25, rounded up once
		{mini, Tokens{Input: 1_000_000, Cached: 500_000, Output: 100, Reasoning: 100}, 250_200},
		{full, Tokens{Input: 1_000_000, Cached: 500_000, CacheWrite: 100_000}, 400_000*3 + 150_000 + 375_000},
		{full, Tokens{Output: 1_000_000, Reasoning: 400_000}, 600_000*15 + 400_000*5},
		{full, Tokens{Input: 10, Cached: 1_000_000}, 300_000}, // the parts are more than the whole
		{full, Tokens{Input: -5, Output: -5}, 0},
		{dear, Tokens{Input: math.MaxInt64, Output: math.MaxInt64}, 2 * maxTokens / 1_000_000 * maxPrice},
	} {
		check.Equal(t, fmt.Sprintf("%s, %+v", test.price.Model, test.usage), At(test.price, test.usage), Money{test.price.Currency, test.want})
	}
}

func TestOf(t *testing.T) {
	table := &price.Table{Date: "2026-11-22", Models: []price.Price{
		{Model: "gpt-5-mini", Input: 1}, {Model: "gpt-5*", Input: 2}, {Model: "*/llama-*-instruct", Input: 3}, {Model: "a*b*c", Input: 4}, {Model: "local/*", Input: 5},
	}}
	for model, want := range map[string]int64{
		"gpt-5-mini": 1, "gpt-5": 2, "gpt-5-mini-2025-08-07": 2, "meta/llama-4-70b-instruct": 3, "meta/llama-4": 0,
		"abc": 4, "axbxc": 4, "axcxb": 0, "abcbc": 4, "local/a/b": 5, "local": 0, "GPT-5": 0, "": 0,
	} {
		p, ok := PriceOf(table, model)
		check.That(t, p.Input == want && ok == (want > 0), "%q: got the price %d, %t, want %d", model, p.Input, ok, want)
	}
	_, ok := Of(nil, "gpt-5", Tokens{Input: 1})
	check.Equal(t, "a table that is nil has a price", ok, false)
}

// A dated name counts as the requested one with which it begins, any other name as the first.
func TestOfReply(t *testing.T) {
	table := &price.Table{Date: "2026-11-22", Models: []price.Price{
		{Model: "m", Currency: "USD", Input: 1_000_000}, {Model: "m-small", Currency: "USD", Input: 2_000_000}, {Model: "large", Currency: "USD", Input: 3_000_000},
	}}
	for replied, want := range map[string]int64{"m-small": 2, "m-small-2026-10-01": 2, "m-2026-10-01": 1, "other": 3, "": 3} {
		got, ok := OfReply(table, replied, []string{"large", "m", "m-small"}, Tokens{Input: 1})
		check.That(t, ok && got.Micro == want, "%q: got %v, want %d", replied, got, want)
	}
	_, ok := OfReply(table, "m-2026-10-01", nil, Tokens{Input: 1})
	check.Equal(t, "a model that was not requested has a price", ok, false)
}

func TestCheck(t *testing.T) {
	good := price.Price{Model: "m", Currency: "USD", Input: 1, Output: 1}
	with := func(change func(*price.Price)) price.Table {
		p := good
		change(&p)
		return price.Table{Date: "2026-11-22", Models: []price.Price{p}}
	}
	for name, test := range map[string]struct {
		table price.Table
		want  string
	}{
		"none":     {price.Table{}, ""},
		"good":     {with(func(*price.Price) {}), ""},
		"free":     {with(func(p *price.Price) { p.Input, p.Output = 0, 0 }), ""},
		"undated":  {price.Table{Models: []price.Price{good}}, "date"},
		"twice":    {price.Table{Date: "2026-11-22", Models: []price.Price{good, good}}, `"m" is there twice`},
		"unnamed":  {with(func(p *price.Price) { p.Model = "" }), "no name"},
		"currency": {with(func(p *price.Price) { p.Currency = "usd" }), `"usd"`},
		"negative": {with(func(p *price.Price) { p.Cached = -1 }), "negative"},
		"huge":     {with(func(p *price.Price) { p.Reasoning = maxPrice + 1 }), "millionths"},
	} {
		err := Check(&test.table)
		check.That(t, (err == nil) == (test.want == "") && strings.Contains(fmt.Sprint(err), test.want), "%s: got %v, want %q", name, err, test.want)
	}
}

func TestLimited(t *testing.T) {
	table := &price.Table{Date: "2026-11-22", Models: []price.Price{{Model: "m", Currency: "USD"}}}
	for _, test := range []struct {
		table  *price.Table
		model  string
		limits map[string]int64
		want   string
	}{
		{table, "m", map[string]int64{"USD": 1, "EUR": 1}, ""},
		{nil, "x", nil, ""},
		{table, "x", map[string]int64{"USD": 1}, `the cost cannot be limited: the model "x" has no price in the table of 2026-11-22`},
		{nil, "x", map[string]int64{"USD": 1}, `the cost cannot be limited: the model "x" has no price`},
		{table, "", map[string]int64{"USD": 1}, `the cost cannot be limited: the model is not named`},
		{table, "m", map[string]int64{"EUR": 1}, `the cost cannot be limited: there is no limit in USD, the currency of the model "m"`},
		{table, "x", map[string]int64{"": 1}, `the cost cannot be limited: the model "x" has no price in the table of 2026-11-22`},
	} {
		err := Limited(test.table, test.model, test.limits)
		ok := errors.Is(err, price.ErrUnpriced)
		check.That(t, ok == (test.want != "") && (!ok || err.Error() == test.want), "%q under %v: got %v, want %q", test.model, test.limits, err, test.want)
	}
}

func TestMoney(t *testing.T) {
	for m, want := range map[Money]string{
		{"USD", 1_250_000}: "1.25 USD", {"EUR", 3_000_000}: "3 EUR", {"EUR", 10_000_000}: "10 EUR", {"USD", 1}: "0.000001 USD",
		{"USD", 0}: "0 USD", {"USD", -500_000}: "-0.5 USD", {"", 5}: "unknown", {"USD", math.MinInt64}: "-9223372036854.775808 USD",
	} {
		check.Equal(t, "", m.String(), want)
	}
}

func TestAffords(t *testing.T) {
	plain := price.Price{Currency: "USD", Input: 1_000_000, Output: 2_000_000}
	full := price.Price{Currency: "USD", Input: 1_000_000, CacheWrite: 1_500_000, Output: 2_000_000, Reasoning: 3_000_000}
	tiny := price.Price{Currency: "USD", Input: 1, Output: 1}
	for _, tt := range []struct {
		price              price.Price
		micro, input, want int64
	}{
		{plain, 0, 0, 0}, {plain, 100, 100, 0}, {plain, 99, 100, -1}, {plain, 105, 100, 2}, {plain, -1, 0, -1},
		{full, 210, 100, 20}, {tiny, 1, 0, 1_000_000}, {tiny, math.MaxInt64, 1, maxTokens},
		{price.Price{Currency: "USD"}, 0, 1 << 40, maxTokens},
	} {
		got := Affords(tt.price, tt.micro, tt.input)
		check.Equal(t, fmt.Sprintf("%+v: %d micro after %d tokens of input", tt.price, tt.micro, tt.input), got, tt.want)
		most := Most(tt.price, tt.input, got)
		check.That(t, got < 0 || most.Micro <= tt.micro, "%+v: %d tokens cost %v, and there are %d", tt.price, got, most, tt.micro)
	}
}
