package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestIssuedCertificateServesItsNamesAndItsClientUnderTheAuthority(t *testing.T) {
	authority, err := NewAuthority("bed-test", now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(Subject{
		CommonName: "kube-apiserver", Organizations: []string{"system:masters"},
		DNSNames: []string{"kubernetes.default.svc"}, Addresses: []net.IP{net.ParseIP("10.96.0.1")},
	})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatalf("certificate and key do not belong together: %v", err)
	}
	certificate, err := x509.ParseCertificate(loaded.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if name := certificate.Subject; name.CommonName != "kube-apiserver" || len(name.Organization) != 1 || name.Organization[0] != "system:masters" {
		t.Errorf("the subject is %v", name)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Certificate)
	for _, name := range []string{"kubernetes.default.svc", "10.96.0.1"} {
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			options := x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}}
			if _, err := certificate.Verify(options); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: "elsewhere", CurrentTime: now}); err == nil {
		t.Error("the certificate serves a name that it was not issued for")
	}
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now.Add(Validity + time.Second)}); err == nil {
		t.Error("the certificate never expires")
	}
}

func TestCertificateOfOneAuthorityIsRefusedUnderAnother(t *testing.T) {
	one, err := NewAuthority("bed", now)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewAuthority("bed", now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := one.Issue(Subject{CommonName: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(loaded.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(other.Certificate)
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err == nil {
		t.Error("it is accepted")
	}
}
