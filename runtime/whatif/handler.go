package whatif

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
)

// ErrBusy is returned by an ask that answers one question at a time.
var ErrBusy = errors.New("another question is being answered: try again")

// Handler answers questions that are posted, with ask, one at a time. While one is being answered
// others get 429. A question that cannot be answered as it is gets 400, and one that is too
// large 413. The server's deadline holds for sending a question, and not for the answer.
func Handler(ask func(ctx context.Context, r *Request) (*Answer, error)) http.Handler {
	var busy sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := bounded.All(r.Body, MaxSize)
		if errors.As(err, new(*bounded.TooLarge)) {
			// A client that is still sending would not see the answer if the connection were closed.
			_, _ = io.CopyN(io.Discard, r.Body, 16*MaxSize)
			refuse(w, http.StatusRequestEntityTooLarge, fmt.Errorf("the question has more than %d bytes: ask about fewer pods at a time", MaxSize))
			return
		}
		if err != nil {
			return // the client is gone, or too slow
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // it would end the answer
		if !busy.TryLock() {
			w.Header().Set("Retry-After", "1")
			http.Error(w, ErrBusy.Error(), http.StatusTooManyRequests)
			return
		}
		defer busy.Unlock()
		question, err := Decode(r.Context(), text)
		if err != nil {
			refuse(w, http.StatusBadRequest, err)
			return
		}
		answer, err := ask(r.Context(), question)
		reply(w, answer, err)
	})
}

// The query of a request for Again: a plugin, and how many attempts.
const (
	pluginQuery = "plugin"
	lastQuery   = "last"
)

// MaxLast is the most attempts that are decided again at once.
const MaxLast = 1000

// AgainPath returns the path of a request that AgainHandler answers.
func AgainPath(path, plugin string, last int) string {
	return path + "?" + url.Values{pluginQuery: {plugin}, lastQuery: {strconv.Itoa(last)}}.Encode()
}

// AgainHandler answers what a plugin would change for the pods of the last attempts, with ask. Its codes are
// those of Handler.
func AgainHandler(ask func(ctx context.Context, plugin string, last int) (*Again, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		last, err := strconv.Atoi(q.Get(lastQuery))
		if err != nil || last < 1 || last > MaxLast || q.Get(pluginQuery) == "" {
			refuse(w, http.StatusBadRequest, fmt.Errorf("write ?plugin=NAME&last=N with N from 1 to %d", MaxLast))
			return
		}
		answer, err := ask(r.Context(), q.Get(pluginQuery), last)
		reply(w, answer, err)
	})
}

func reply(w http.ResponseWriter, answer any, err error) {
	switch refused := new(Refused); {
	case errors.Is(err, ErrBusy):
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, err)
	case errors.As(err, &refused):
		refuse(w, http.StatusBadRequest, err)
	case err != nil:
		refuse(w, http.StatusServiceUnavailable, err)
	default:
		write(w, answer)
	}
}

// refuse writes an error, which may quote the question.
func refuse(w http.ResponseWriter, code int, err error) {
	http.Error(w, plain.Lines(err.Error(), maxError), code)
}

// maxError is the most bytes of an error.
const maxError = 16 << 10

func write(w http.ResponseWriter, answer any) {
	data, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, "BUG: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(plain.JSON(data), '\n')) // the client may be gone
}
