package faults

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"time"
)

// Proxy stands between pods and the API server.
type Proxy struct {
	server  *url.URL
	forward *httputil.ReverseProxy

	mutex  sync.Mutex
	fault  Fault
	counts Counts
}

// Counts is what the proxy has done since it started, for those who want to know that a fault was one.
type Counts struct {
	Requests int `json:"requests"`
	Delayed  int `json:"delayed"`
	Refused  int `json:"refused"`
	Cut      int `json:"cut"`
}

// New makes a proxy to server that speaks as it does, with its certificate from the folder pki.
func New(server, pki string) (*Proxy, *tls.Config, error) {
	target, err := url.Parse(server)
	if err != nil {
		return nil, nil, err
	}
	identity, err := tls.LoadX509KeyPair(pki+"/apiserver.crt", pki+"/apiserver.key")
	if err != nil {
		return nil, nil, fmt.Errorf("reading the API server's certificate: %w", err)
	}
	authority, err := os.ReadFile(pki + "/ca.crt")
	if err != nil {
		return nil, nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	proxy := &Proxy{server: target}
	proxy.forward = &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(target)
			request.Out.Host = request.In.Host
		},
		// A connection for each request, so that none waits for another's.
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: roots},
			TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
			MaxIdleConnsPerHost: 500,
			DisableCompression:  true,
		},
		FlushInterval:  -1, // events of a watch go on at once
		ModifyResponse: proxy.delay,
		// An API server that has gone leaves broken connections, not answers.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	return proxy, &tls.Config{Certificates: []tls.Certificate{identity}, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// Serve answers pods at the listener until it is closed.
func (proxy *Proxy) Serve(listener net.Listener, config *tls.Config) error {
	serving := &http.Server{Handler: proxy, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	return serving.Serve(tls.NewListener(gone{listener, proxy.server.Host}, config))
}

// gone is a listener that resets connections while nobody listens behind it, as the API server's own address does.
type gone struct {
	net.Listener
	behind string
}

const dialLimit = 5 * time.Second

func (listener gone) Accept() (net.Conn, error) {
	for {
		connection, err := listener.Listener.Accept()
		if err != nil {
			return nil, err
		}
		behind, err := net.DialTimeout("tcp", listener.behind, dialLimit)
		if err == nil {
			behind.Close()
			return connection, nil
		}
		if connection, ok := connection.(*net.TCPConn); ok {
			_ = connection.SetLinger(0) // closing resets
		}
		connection.Close()
	}
}

// ServeHTTP spoils one answer, or not.
func (proxy *Proxy) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	fault := proxy.now(func(counts *Counts) { counts.Requests++ })
	if fault.refuses() {
		proxy.now(func(counts *Counts) { counts.Refused++ })
		_, _ = io.Copy(io.Discard, request.Body)
		answer.Header().Set("Content-Type", "application/json")
		answer.Header().Set("Retry-After", fmt.Sprint(retryAfter))
		answer.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(answer, refusal)
		return
	}
	if isWatch(request) {
		ctx, done := proxy.cutting(request.Context())
		defer done()
		request = request.WithContext(ctx)
	}
	proxy.forward.ServeHTTP(answer, request)
}

// Fault is what counts now.
func (proxy *Proxy) Fault() Fault { return proxy.now(func(*Counts) {}) }

func (proxy *Proxy) now(count func(*Counts)) Fault {
	proxy.mutex.Lock()
	defer proxy.mutex.Unlock()
	count(&proxy.counts)
	return proxy.fault
}

// delay holds an answer back that the API server has given: what was asked for is done, and nobody knows.
func (proxy *Proxy) delay(response *http.Response) error {
	fault := proxy.Fault()
	if fault.Delay == 0 {
		return nil
	}
	proxy.now(func(counts *Counts) { counts.Delayed++ })
	select {
	case <-time.After(fault.Delay):
		return nil
	case <-response.Request.Context().Done():
		return response.Request.Context().Err()
	}
}

var errCut = errors.New("cut")

// look is how often a watch asks whether its time is over, so that those that were there before the fault end too.
const look = 200 * time.Millisecond

func (proxy *Proxy) cutting(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	began := time.Now()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(look):
			}
			if cut := proxy.Fault().Cut; cut > 0 && time.Since(began) >= cut {
				proxy.now(func(counts *Counts) { counts.Cut++ })
				cancel(errCut)
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Control is the proxy's interface for tests:
//
//	GET  /fault                                what it has done so far
//	POST /fault?delay=2s&refuse=0.5&cut=20s    how it treats answers from now on; without any, it leaves them alone
func (proxy *Proxy) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /fault", func(answer http.ResponseWriter, _ *http.Request) {
		var seen Counts
		proxy.now(func(counts *Counts) { seen = *counts })
		answer.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(answer).Encode(seen)
	})
	mux.HandleFunc("POST /fault", func(answer http.ResponseWriter, request *http.Request) {
		fault, err := ParseFault(request.URL.Query())
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		proxy.mutex.Lock()
		proxy.fault = fault
		proxy.mutex.Unlock()
		answer.WriteHeader(http.StatusNoContent)
	})
	return mux
}
