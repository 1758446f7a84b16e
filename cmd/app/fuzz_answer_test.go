package app

import (
	"bytes"
	"context"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/shadow"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// FuzzServerAnswer: any answer of a server that a command reads is refused with a short text, or printed as text that a terminal shows
// and does not obey.
func FuzzServerAnswer(f *testing.F) {
	at := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	kinds := []func(ctx context.Context, p *printer, body []byte) error{
		func(ctx context.Context, p *printer, body []byte) error {
			var pod debughttp.Pod
			err := readAnswer(ctx, body, &pod)
			if err == nil {
				p.live(&pod, at)
				p.now(&pod)
			}
			return err
		},
		func(ctx context.Context, p *printer, body []byte) error {
			var s debughttp.Plugins
			err := readAnswer(ctx, body, &s)
			if err == nil {
				p.status(&s, at)
			}
			return err
		},
		func(ctx context.Context, p *printer, body []byte) error {
			var all trials
			err := readAnswer(ctx, body, &all)
			if err == nil {
				p.trials("IN SHADOW", all, shadow.DefaultKeep)
			}
			return err
		},
		func(ctx context.Context, p *printer, body []byte) error {
			var all whatif.Again
			err := readAnswer(ctx, body, &all)
			if err == nil {
				p.again(&all)
			}
			return err
		},
		func(ctx context.Context, p *printer, body []byte) error {
			var list []debughttp.Debt
			err := readAnswer(ctx, body, &list)
			if err == nil {
				p.debts(list, at)
			}
			return err
		},
		func(ctx context.Context, p *printer, body []byte) error {
			var answer whatif.Answer
			err := readAnswer(ctx, body, &answer)
			if err == nil {
				p.whatIf(&answer)
			}
			return err
		},
	}
	for kind, body := range []string{
		`{"namespace":"a","name":"b","explanation":{"message":"\u001b[2J","attempt":{"profile":"c","rejections":[{"nodes":3}],` +
			`"best":[{"node":"d"}]}},"now":{"code":"Fits"}}`,
		`{"standby":true,"leader":"a","plugins":[{"profile":"b","name":"c","module":"d","digest":"sha256:e"}]}`,
		`[{"plugin":"a","attempts":3,"same":2,"differences":[{"pod":"b","namespace":"c"}]}]`,
		`{"plugin":"a","pods":3,"trials":[{"plugin":"a"}]}`, `[{"namespace":"a","pod":"b"}]`,
		`{"summary":{"pods":1},"pods":[{"name":"a","code":"DoesNotFit","message":"\u202e"}],"notKnown":["b"],"unknown":["c"]}`,
	} {
		f.Add(uint8(kind), body)
	}
	f.Fuzz(func(t *testing.T, kind uint8, body string) {
		var out bytes.Buffer
		err := kinds[int(kind)%len(kinds)](t.Context(), &printer{w: &out, width: 100}, []byte(body))
		if err != nil && len(err.Error()) > 64<<10 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
		text := out.String()
		if !utf8.ValidString(text) {
			t.Errorf("%q is printed", text)
		}
		for _, r := range text {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Errorf("%q is printed: %q", r, text)
			}
		}
	})
}
