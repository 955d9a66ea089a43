package faults

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
)

// between is a proxy before a server that answers at once, and watches that never end.
func between(t *testing.T) (*Proxy, *httptest.Server) {
	t.Helper()
	behind := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		_, _ = io.WriteString(answer, "well\n")
		if isWatch(request) {
			answer.(http.Flusher).Flush()
			<-request.Context().Done()
		}
	}))
	t.Cleanup(behind.Close)
	target, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &Proxy{server: target}
	proxy.forward = httputil.NewSingleHostReverseProxy(target)
	proxy.forward.FlushInterval = -1
	proxy.forward.ModifyResponse = proxy.delay
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return proxy, front
}

func (proxy *Proxy) told(t *testing.T, fault string) {
	t.Helper()
	answer := httptest.NewRecorder()
	proxy.Control().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/fault?"+fault, nil))
	if answer.Code != http.StatusNoContent {
		t.Fatalf("%s: %d %s", fault, answer.Code, answer.Body)
	}
}

func get(t *testing.T, address string) (int, http.Header, string, error) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, string(body), err
}

func TestWithoutAFaultAnswersPass(t *testing.T) {
	_, front := between(t)
	if code, _, body, err := get(t, front.URL); code != 200 || body != "well\n" || err != nil {
		t.Error(code, body, err)
	}
}

func TestEveryAnswerIsRefusedOrLateAsTold(t *testing.T) {
	proxy, front := between(t)
	proxy.told(t, "refuse=1")
	code, header, body, _ := get(t, front.URL)
	if code != 429 || header.Get("Retry-After") != "1" || !strings.Contains(body, "TooManyRequests") {
		t.Error(code, header, body)
	}
	proxy.told(t, "delay=300ms")
	began := time.Now()
	if code, _, _, _ := get(t, front.URL); code != 200 || time.Since(began) < 300*time.Millisecond {
		t.Error(code, time.Since(began))
	}
	if proxy.counts.Refused != 1 || proxy.counts.Delayed != 1 || proxy.counts.Requests != 2 {
		t.Errorf("%+v", proxy.counts)
	}
}

func TestAWatchThatWasThereBeforeIsCutToo(t *testing.T) {
	proxy, front := between(t)
	ended := make(chan error, 1)
	go func() {
		answer, err := http.Get(front.URL + "/?watch=true")
		if err == nil {
			_, err = io.ReadAll(answer.Body)
		}
		ended <- err
	}()
	time.Sleep(100 * time.Millisecond)
	proxy.told(t, "cut=1ms")
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the watch ended as if all had been said")
		}
	case <-time.After(10 * time.Second):
		t.Error("the watch goes on")
	}
}

func TestConnectionsAreResetWhileNobodyListensBehind(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	behind := closed.Addr().String()
	closed.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() { _, _ = gone{listener, behind}.Accept() }()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err == nil { // or it was quicker
		_, err = connection.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("not a reset but %v", err)
	}
}

func TestFaultsThatAreNoneAreRefused(t *testing.T) {
	for _, text := range []string{"refuse=2", "delay=-1s", "cut=x", "slow=1s"} {
		values, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		if fault, err := ParseFault(values); err == nil {
			t.Errorf("%s is %+v", text, fault)
		}
	}
}
