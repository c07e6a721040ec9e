// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// double says what a real server cannot be brought to say. It replies to a call,
// named by its method and path, such as "POST /auth/token".
type double func(call string, body []byte) reply

type reply struct {
	status int // 0: 200
	header http.Header
	body   string
	err    error // instead of a reply
}

func (d double) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		body, _ = io.ReadAll(request.Body)
	}
	r := d(request.Method+" "+request.URL.EscapedPath(), body)
	if r.err != nil {
		return nil, r.err
	}
	if r.header == nil {
		r.header = http.Header{}
	}
	return &http.Response{
		StatusCode: max(r.status, http.StatusOK), Header: r.header, Request: request,
		Body: io.NopCloser(strings.NewReader(r.body)),
	}, nil
}

const (
	givenToken = "the-token-of-the-operator"
	password   = "the-password"
)

// withToken and withPassword are clients of a double.
func withToken(t *testing.T, d double) *Client {
	return clientOf(t, d, Options{Token: givenToken})
}

func withPassword(t *testing.T, d double) *Client {
	return clientOf(t, d, Options{Username: "janitor", Password: password})
}

func clientOf(t *testing.T, d double, o Options) *Client {
	t.Helper()
	o.URL, o.Clock = "https://airflow.example.com", clock.System()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.http.Transport = d
	return c
}

// oneRun and oneTask are what there is to ask about.
var (
	oneRun  = airflow.DagRun{DagID: "etl", RunID: "one"}
	oneTask = airflow.TaskInstance{DagRun: oneRun, TaskID: "agent", MapIndex: -1}
	both    = airflow.Questions{Runs: []airflow.DagRun{oneRun}, Tasks: []airflow.TaskInstance{oneTask}}
)

func taskJSON(index int, state string) string {
	return fmt.Sprintf(`{"dag_id":"etl","dag_run_id":"one","task_id":"agent","map_index":%d,"state":%q,"try_number":1}`, index, state)
}

func pageJSON(total int, rows ...string) reply {
	return reply{body: fmt.Sprintf(`{"task_instances":[%s],"total_entries":%d}`, strings.Join(rows, ","), total)}
}

func TestAnEmptyFilterCannotBeSent(t *testing.T) {
	for _, query := range []any{
		taskQuery{RunIDs: filter{"r"}, TaskIDs: filter{"t"}}, taskQuery{DagIDs: filter{"d"}, TaskIDs: filter{}},
		taskQuery{DagIDs: filter{"d"}, RunIDs: filter{"r"}}, runQuery{States: filter{"queued"}}, runQuery{DagIDs: filter{"d"}},
	} {
		if body, err := json.Marshal(query); err == nil {
			t.Errorf("%s", body)
		}
	}
}

func TestAskedAboutNothingItFindsOutWhetherItCanBeAsked(t *testing.T) {
	for name, c := range map[string]struct {
		said reply
		want error
	}{
		"it can":               {pageJSON(0), nil},
		"the token is refused": {reply{status: http.StatusUnauthorized, body: `{"detail":"Not authenticated"}`}, backend.ErrUnauthorized},
		"the role is":          {reply{status: http.StatusForbidden, body: `{"detail":"Forbidden"}`}, backend.ErrUnauthorized},
		"it is no Airflow":     {reply{body: "<html>welcome</html>"}, backend.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []string
			client := withToken(t, func(call string, body []byte) reply {
				calls = append(calls, call+" "+string(body))
				return c.said
			})
			answers, err := client.Ask(t.Context(), airflow.Questions{})
			if !errors.Is(err, c.want) || len(answers.Tasks) > 0 {
				t.Errorf("answers %v, error %v; want %v", answers.Tasks, err, c.want)
			}
			want := "POST " + taskList + ` {"dag_ids":[":"],"dag_run_ids":[":"],"task_ids":[":"],"page_offset":0,"page_limit":500}`
			if !slices.Equal(calls, []string{want}) {
				t.Errorf("called %q, want %q alone", calls, want)
			}
		})
	}
}

func TestABodyHasOnlyWhatEveryVersionTakes(t *testing.T) {
	common := []string{"dag_ids", "dag_run_ids", "task_ids", "states", "order_by", "page_offset", "page_limit"}
	c := withToken(t, func(call string, body []byte) reply {
		var sent map[string]any
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Errorf("%s: %v", call, err)
		}
		for key := range sent {
			if !slices.Contains(common, key) {
				t.Errorf("%s sends %s", call, key)
			}
		}
		return pageJSON(0)
	})
	q := airflow.Questions{Tasks: both.Tasks}
	for n := range readsPerAsk + 1 {
		q.Runs = append(q.Runs, airflow.DagRun{DagID: "etl/", RunID: strconv.Itoa(n)}) // asked for in lists alone
	}
	if _, err := c.Ask(t.Context(), q); err != nil {
		t.Error(err)
	}
}

func TestAListIsReadToItsEndOrProvesNothing(t *testing.T) {
	const asked = 250
	rows := make([]string, asked)
	q := airflow.Questions{}
	for i := range rows {
		rows[i] = taskJSON(i, "success")
		q.Tasks = append(q.Tasks, airflow.TaskInstance{DagRun: oneRun, TaskID: "agent", MapIndex: i})
	}
	for name, c := range map[string]struct {
		page    func(offset int) reply
		answers int
		doubt   string
	}{
		"in one page":            {func(int) reply { return pageJSON(asked, rows...) }, asked, ""},
		"cut to a hundred":       {func(at int) reply { return pageJSON(asked, rows[at:min(at+100, asked)]...) }, asked, ""},
		"cut to one":             {func(at int) reply { return pageJSON(asked, rows[at]) }, asked, ""},
		"without the last one":   {func(at int) reply { return pageJSON(asked-1, rows[at:asked-1]...) }, asked - 1, "no instance of it"},
		"ends early":             {func(at int) reply { return pageJSON(asked, rows[min(at, 40):40]...) }, 40, "ended early"},
		"grows while it is read": {func(at int) reply { return pageJSON(asked-1+min(at, 1), rows[at:min(at+125, asked-1)]...) }, asked - 1, "changed while it was read"},
		"shrinks while it is read": {func(at int) reply {
			gone := min(at, 1)
			return pageJSON(asked-gone, rows[at+gone:min(at+gone+125, asked)]...)
		}, asked - 1, "changed while it was read"},
		"repeats its first page":    {func(at int) reply { return pageJSON(asked, rows[:125]...) }, 125, "changed while it was read"},
		"never ends":                {func(at int) reply { return pageJSON(at+asked, rows[0]) }, 1, "changed while it was read"},
		"has no row of what it has": {func(at int) reply { return pageJSON(asked) }, 0, "ended early"},
	} {
		t.Run(name, func(t *testing.T) {
			client := withToken(t, func(_ string, body []byte) reply {
				var sent paging
				if err := json.Unmarshal(body, &sent); err != nil {
					t.Fatal(err)
				}
				return c.page(sent.Offset)
			})
			answers, err := client.Ask(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			known := 0
			for _, task := range q.Tasks {
				switch got := answers.Tasks[task]; {
				case got.State == "success" && got.Doubt == "":
					known++
				case got.State != "" || !strings.Contains(got.Doubt, c.doubt) || c.doubt == "":
					t.Errorf("%s: %+v", task.Holder(), got)
				}
			}
			if known != c.answers {
				t.Errorf("%d have an answer, want %d", known, c.answers)
			}
		})
	}
}

func TestOfTwoRowsThatDisagreeTheLivingOneCounts(t *testing.T) {
	for _, rows := range [][]string{
		{taskJSON(-1, "success"), taskJSON(-1, "running")},
		{taskJSON(-1, "running"), taskJSON(-1, "success")},
	} {
		c := withToken(t, func(string, []byte) reply { return pageJSON(2, rows...) })
		answers, err := c.Ask(t.Context(), airflow.Questions{Tasks: both.Tasks})
		if got := answers.Tasks[oneTask]; err != nil || got.State != "running" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestAnUnknownStateIsAliveAndNoDoubt(t *testing.T) {
	c := withToken(t, func(call string, _ []byte) reply {
		if strings.HasPrefix(call, "GET") {
			return reply{body: `{"dag_id":"etl","dag_run_id":"one","state":"on_hold","end_date":"2026-10-05T00:00:00Z","invented":[1]}`}
		}
		return pageJSON(1, taskJSON(-1, "hibernating"))
	})
	answers, err := c.Ask(t.Context(), both)
	if err != nil {
		t.Fatal(err)
	}
	if got := answers.Tasks[oneTask]; got.State != "hibernating" || got.State.Terminal() || got.Doubt != "" {
		t.Errorf("the task: %+v", got)
	}
	if got := answers.Runs[oneRun]; got.State != "on_hold" || got.State.Terminal() || got.Doubt != "" || !got.EndedAt.IsZero() {
		t.Errorf("the run: %+v", got)
	}
}

func TestWhatAirflowRefusesOfOneQuestionHarmsNoOther(t *testing.T) {
	var q airflow.Questions
	for n := range 2 * runsPerList {
		q.Tasks = append(q.Tasks, airflow.TaskInstance{DagRun: airflow.DagRun{DagID: "etl", RunID: strconv.Itoa(1000 + n)}, TaskID: "agent", MapIndex: -1})
	}
	for words, refusal := range map[string]reply{
		"body dag_run_ids 0: is odd": {status: 422, body: `{"detail":[{"loc":["body","dag_run_ids",0],"msg":"is odd","input":"` + givenToken + `"}]}`},
		"500 Internal Server Error":  {status: 500, body: "Internal Server Error"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := withToken(t, func(_ string, body []byte) reply {
				if bytes.Contains(body, []byte(`"1000"`)) {
					return refusal
				}
				return pageJSON(1, `{"dag_id":"etl","dag_run_id":"1050","task_id":"agent","map_index":-1,"state":"failed","try_number":1}`)
			})
			answers, err := c.Ask(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if got := answers.Tasks[q.Tasks[0]]; got.State != "" || !strings.Contains(got.Doubt, words) || strings.Contains(got.Doubt, givenToken) {
				t.Errorf("%+v", got)
			}
			if got := answers.Tasks[q.Tasks[runsPerList]]; got.State != "failed" || got.Doubt != "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestRunsThatNoListShowsAreReadInTurn(t *testing.T) {
	const runs = 3 * readsPerAsk
	reads := map[string]int{}
	c := withToken(t, func(call string, _ []byte) reply {
		if strings.HasPrefix(call, "POST") {
			return reply{body: `{"dag_runs":[],"total_entries":0}`}
		}
		reads[call]++
		return reply{status: http.StatusNotFound, body: `{"detail":"The DagRun with dag_id: etl was not found"}`}
	})
	var q airflow.Questions
	for n := range runs {
		q.Runs = append(q.Runs, airflow.DagRun{DagID: "etl", RunID: strconv.Itoa(n)})
	}
	for asking := 1; len(reads) < runs; asking++ {
		if asking > 1000 {
			t.Fatalf("after %d askings only %d of %d runs were read", asking, len(reads), runs)
		}
		answers, err := c.Ask(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		later := 0
		for _, run := range q.Runs {
			got := answers.Runs[run]
			if got.State != "" || got.Doubt == "" {
				t.Errorf("%s: %+v", run.Owner(), got)
			}
			if strings.Contains(got.Doubt, "not asked this time") {
				later++
			}
		}
		if later != runs-readsPerAsk {
			t.Errorf("%d runs are put off", later)
		}
	}
}

// Each is what a person meets who has configured something wrong, or whose
// deployment is not well.
func TestAnErrorSaysWhereWhatAndWhatToDo(t *testing.T) {
	page := "<!doctype html><title>Sign in</title>"
	html := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	for name, c := range map[string]struct {
		reply reply
		class error
		words string
	}{
		"a page":                        {reply{body: page, header: html}, backend.ErrInvalid, "a web page"},
		"a page without its type":       {reply{body: "\n" + page}, backend.ErrInvalid, "a web page"},
		"a page that forbids":           {reply{status: 403, body: page, header: html}, backend.ErrInvalid, "a web page"},
		"a page of an Airflow 2":        {reply{status: 404, body: page, header: html}, backend.ErrInvalid, "an Airflow 2"},
		"a redirect to a log-in":        {reply{status: 302, header: http.Header{"Location": {"https://sso.example.com/in?state=secret"}}}, backend.ErrInvalid, `points to "https://sso.example.com/in": use`},
		"no such path":                  {reply{status: 404, body: `{"detail":"Not Found"}`}, backend.ErrInvalid, "no API v2 of Airflow is here"},
		"no such method":                {reply{status: 405, body: `{"detail":"Method Not Allowed"}`}, backend.ErrInvalid, "no API v2 of Airflow is here"},
		"a token that is too old":       {reply{status: 401, body: `{"detail":"Token Expired"}`}, backend.ErrUnauthorized, "give a new one"},
		"a token of another":            {reply{status: 403, body: `{"detail":"Invalid JWT token"}`}, backend.ErrUnauthorized, "give a new one"},
		"an account that may not":       {reply{status: 403, body: `{"detail":"Forbidden"}`}, backend.ErrUnauthorized, "give it a role"},
		"a server that breaks over all": {reply{status: 500, body: "Internal Server Error"}, backend.ErrUnavailable, "500 Internal Server Error"},
		"a broken gateway":              {reply{status: 502, body: page, header: html}, backend.ErrUnavailable, "502 Bad Gateway"},
		"not now":                       {reply{status: 503, header: http.Header{"Retry-After": {"3600"}}}, backend.ErrUnavailable, "try again after 1h0m0s"},
		"too much":                      {reply{status: 429, header: http.Header{"Retry-After": {"1"}}}, backend.ErrUnavailable, "429 Too Many Requests"},
		"half a reply":                  {reply{body: `{"task_instances":[`}, backend.ErrInvalid, "not what Airflow's API v2 replies"},
		"a reply of something else":     {reply{body: `{"items":[]}`}, backend.ErrInvalid, "no rows or no total_entries"},
		"a list without its end":        {reply{body: `{"task_instances":[],"total_entries":null}`}, backend.ErrInvalid, "no total_entries"},
		"a row without its index":       {reply{body: `{"task_instances":[{"dag_id":"etl","dag_run_id":"one","task_id":"agent","state":"failed"}],"total_entries":1}`}, backend.ErrInvalid, "map_index"},
		"a server that is not there":    {reply{err: errors.New("dial tcp: connection refused")}, backend.ErrUnavailable, "connection refused"},
		"a server that says":            {reply{status: 401, body: `{"detail":"` + givenToken + ` is wrong"}`}, backend.ErrUnauthorized, "*** is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := withToken(t, func(string, []byte) reply { return c.reply })
				_, err := client.Ask(t.Context(), both)
				if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), "https://airflow.example.com/api/v2/") {
					t.Errorf("%v", err)
				}
				if err != nil && (strings.Contains(err.Error(), givenToken) || strings.Contains(err.Error(), "secret")) {
					t.Errorf("tells a secret: %v", err)
				}
			})
		})
	}
}

func TestALogInThatFailsTellsNoSecret(t *testing.T) {
	for name, c := range map[string]struct {
		reply reply
		class error
	}{
		"wrong password":             {reply{status: 401, body: `{"detail":"Invalid credentials"}`}, backend.ErrUnauthorized},
		"a body that is repeated":    {reply{status: 422, body: `{"detail":[{"loc":["body"],"msg":"Field required","input":{"username":"janitor","password":"` + password + `"}}]}`}, backend.ErrInvalid},
		"a body that is in the text": {reply{status: 400, body: `{"detail":"` + password + `?"}`}, backend.ErrInvalid},
		"no token":                   {reply{status: 201, body: `{"token":"` + password + `"}`}, backend.ErrInvalid},
		"no path":                    {reply{status: 404, body: `{"detail":"Not Found"}`}, backend.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := withPassword(t, func(string, []byte) reply { return c.reply }).Ask(t.Context(), both)
			if !errors.Is(err, c.class) || !strings.Contains(err.Error(), "https://airflow.example.com/auth/token") || strings.Contains(err.Error(), password) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestARefusedTokenIsReplacedOnceAndNotForEver(t *testing.T) {
	for name, c := range map[string]struct {
		refusal reply
		logins  int
	}{
		"too old":      {reply{status: 401, body: `{"detail":"Token Expired"}`}, 2},
		"not signed":   {reply{status: 403, body: `{"detail":"Invalid JWT token"}`}, 2},
		"perhaps that": {reply{status: 403, body: `{"detail":"Forbidden"}`}, 2},
		"not a token":  {reply{status: 404, body: `{"detail":"Not Found"}`}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			logins := 0
			client := withPassword(t, func(call string, _ []byte) reply {
				if call != "POST /auth/token" {
					return c.refusal
				}
				logins++
				return reply{status: http.StatusCreated, body: fmt.Sprintf(`{"jwt_token":"number-%d"}`, logins)}
			})
			if _, err := client.Ask(t.Context(), both); err == nil {
				t.Error("no error")
			}
			if logins != c.logins {
				t.Errorf("%d log-ins, want %d", logins, c.logins)
			}
		})
	}
}

func TestTheServersWishToWaitIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, calls := clock.System().Now(), 0
		c := withToken(t, func(string, []byte) reply {
			if calls++; calls == 1 {
				return reply{status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {began.Add(20 * time.Second).Format(http.TimeFormat)}}}
			}
			return pageJSON(1, taskJSON(-1, "failed"))
		})
		answers, err := c.Ask(t.Context(), airflow.Questions{Tasks: both.Tasks})
		if waited := clock.System().Now().Sub(began); err != nil || answers.Tasks[oneTask].State != "failed" || waited < 19*time.Second {
			t.Errorf("%+v, %v after %s", answers, err, waited)
		}
	})
}

func TestTheirClockIsReadFromTheirReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ahead = 3 * time.Minute
		date := ""
		c := withToken(t, func(string, []byte) reply {
			r := pageJSON(1, taskJSON(-1, "failed"))
			r.header = http.Header{"Date": {date}}
			return r
		})
		ask := func() airflow.Answers {
			answers, err := c.Ask(t.Context(), airflow.Questions{Tasks: both.Tasks})
			if err != nil {
				t.Fatal(err)
			}
			return answers
		}
		if answers := ask(); answers.ClockKnown {
			t.Errorf("without a date: %s", answers.Ahead)
		}
		for by, want := range map[time.Duration]time.Duration{
			ahead:            ahead,
			-ahead:           dateAge - ahead,
			0:                0,
			-2 * time.Second: 0, // a busy server repeats the Date of a moment ago
		} {
			date = clock.System().Now().Add(by).Format(http.TimeFormat)
			if answers := ask(); !answers.ClockKnown || answers.Ahead != want {
				t.Errorf("%s: %s (known: %t), want %s", date, answers.Ahead, answers.ClockKnown, want)
			}
		}
	})
}

func TestASlowServerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := withToken(t, nil)
		c.http.Transport = stalled{}
		began := clock.System().Now()
		_, err := c.Ask(t.Context(), both)
		if took := clock.System().Now().Sub(began); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "no answer within 30s") || took > 5*time.Minute {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// stalled never replies.
type stalled struct{}

func (stalled) RoundTrip(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func TestTroubleWithTLSIsTold(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for at, words := range map[string]string{
		secure.URL: "SSL_CERT_FILE",
		"https://" + strings.TrimPrefix(plain.URL, "http://"): "begin with http://",
	} {
		caller := &backend.Caller{}
		c, err := New(Options{URL: at, Token: givenToken, Caller: caller, Clock: clock.System()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Ask(t.Context(), both); !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), words) {
			t.Errorf("%v", err)
		}
		if calls := caller.Counts()["list task instances"]; calls != 1 {
			t.Errorf("tried %d times", calls)
		}
	}
}

func TestAWrongURLIsRefusedWithoutACall(t *testing.T) {
	for _, at := range []string{"", "https://airflow.example.com/api/v2", "https://janitor:secret@airflow.example"} {
		_, err := New(Options{URL: at, Token: givenToken, Clock: clock.System()})
		if !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), "the URL of Airflow") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", at, err)
		}
	}
	if _, err := New(Options{URL: "https://airflow.example.com", Username: "janitor", Clock: clock.System()}); !errors.Is(err, backend.ErrUnauthorized) {
		t.Errorf("without a password: %v", err)
	}
}

// FuzzReply gives every call the same reply: whatever it is, every question has
// one answer, and what is dead was in it.
func FuzzReply(f *testing.F) {
	f.Add(200, `{"task_instances":[`+taskJSON(-1, "success")+`],"total_entries":1}`)
	f.Add(200, `{"dag_id":"etl","dag_run_id":"one","state":"failed","end_date":"2026-10-05T00:00:00Z"}`)
	f.Add(200, `{"dag_runs":[],"total_entries":0}`)
	f.Add(404, `{"detail":"The DagRun was not found"}`)
	f.Add(422, `{"detail":[{"loc":["body",1],"msg":"?"}]}`)
	f.Add(200, `<html>`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		c := withToken(t, func(string, []byte) reply { return reply{status: status, body: body} })
		c.caller.MaxRetries = -1
		answers, err := c.Ask(t.Context(), both)
		if err != nil {
			return
		}
		run, task := answers.Runs[oneRun], answers.Tasks[oneTask]
		if len(answers.Runs) != 1 || len(answers.Tasks) != 1 || run.Doubt != "" && run.State != "" || task.Doubt != "" && task.State != "" {
			t.Errorf("%+v", answers)
		}
		if (run.State.Terminal() || task.State.Terminal()) && (status > 299 || !json.Valid([]byte(body))) {
			t.Errorf("%d %q is read as an end", status, body)
		}
	})
}
