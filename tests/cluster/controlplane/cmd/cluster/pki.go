// SPDX-License-Identifier: Apache-2.0

// Keys and certificates: one authority, the API server's certificate by it,
// and the key that signs service-account tokens. The server's own self-signed
// certificate would not do: the controller manager publishes the authority to
// namespaces and refuses one without the CA bit.
package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

const certificateLifetime = 365 * 24 * time.Hour

// newPKI returns the files of the folder pki by name.
func newPKI() (map[string][]byte, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		return nil, err
	}
	ca := newCertificate(1, "truce test authority")
	ca.IsCA, ca.BasicConstraintsValid = true, true
	ca.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	caText, err := sign(ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, err
	}

	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		return nil, err
	}
	server := newCertificate(2, "kube-apiserver")
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	serverText, err := sign(server, ca, &serverKey.PublicKey, caKey)
	if err != nil {
		return nil, err
	}

	accountKey, err := rsa.GenerateKey(crand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"ca.crt": caText, "server.crt": serverText}
	if files["server.key"], err = privateText(serverKey); err != nil {
		return nil, err
	}
	if files["sa.key"], err = privateText(accountKey); err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&accountKey.PublicKey)
	if err != nil {
		return nil, err
	}
	files["sa.pub"] = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	return files, nil
}

func newCertificate(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(certificateLifetime),
	}
}

func sign(subject, issuer *x509.Certificate, public crypto.PublicKey, key crypto.Signer) ([]byte, error) {
	der, err := x509.CreateCertificate(crand.Reader, subject, issuer, public, key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

func privateText(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
