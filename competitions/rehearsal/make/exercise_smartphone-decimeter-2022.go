package main

import (
	"io/fs"
	"math"
	"path"
	"strings"
)

var gnssSmartphone2022 = strings.Fields(`MessageType utcTimeMillis TimeNanos LeapSecond FullBiasNanos BiasNanos
BiasUncertaintyNanos DriftNanosPerSecond DriftUncertaintyNanosPerSecond HardwareClockDiscontinuityCount Svid
TimeOffsetNanos State ReceivedSvTimeNanos ReceivedSvTimeUncertaintyNanos Cn0DbHz PseudorangeRateMetersPerSecond
PseudorangeRateUncertaintyMetersPerSecond AccumulatedDeltaRangeState AccumulatedDeltaRangeMeters
AccumulatedDeltaRangeUncertaintyMeters CarrierFrequencyHz CarrierCycles CarrierPhase MultipathIndicator
ConstellationType CodeType ChipsetElapsedRealtimeNanos ArrivalTimeNanosSinceGpsEpoch RawPseudorangeMeters
RawPseudorangeUncertaintyMeters SignalType ReceivedSvTimeNanosSinceGpsEpoch SvPositionXEcefMeters
SvPositionYEcefMeters SvPositionZEcefMeters SvElevationDegrees SvAzimuthDegrees SvVelocityXEcefMetersPerSecond
SvVelocityYEcefMetersPerSecond SvVelocityZEcefMetersPerSecond SvClockBiasMeters SvClockDriftMetersPerSecond
IsrbMeters IonosphericDelayMeters TroposphericDelayMeters WlsPositionXEcefMeters WlsPositionYEcefMeters
WlsPositionZEcefMeters`)

// ecefSmartphone2022 returns the place of a latitude and longitude in degrees on the
// ellipsoid, in metres from the center of the earth.
func ecefSmartphone2022(latitude, longitude float64) (x, y, z float64) {
	const a, e2 = 6378137.0, 6.69437999014e-3
	sinLat, cosLat := math.Sincos(latitude * math.Pi / 180)
	sinLng, cosLng := math.Sincos(longitude * math.Pi / 180)
	n := a / math.Sqrt(1-e2*sinLat*sinLat)
	return n * cosLat * cosLng, n * cosLat * sinLng, n * (1 - e2) * sinLat
}

// drawPhoneSmartphone2022 draws the logs of one phone: it estimates the position with an
// error that all drives share, and noise.
func drawPhoneSmartphone2022(s *set, folder string, start int, latitudes, longitudes []float64) {
	gnss, imu, truth := [][]string{}, [][]string{}, [][]string{}
	for k, latitude := range latitudes {
		now := itoa(start + 1000*k)
		x, y, z := ecefSmartphone2022(latitude+2.5e-5+s.normal(0, 8e-6), longitudes[k]-1.5e-5+s.normal(0, 8e-6))
		for range 2 {
			svid := 1 + s.IntN(32)
			known := map[string]string{
				"MessageType": "Raw", "utcTimeMillis": now, "TimeNanos": itoa(k+1) + "000000000", "LeapSecond": "",
				"FullBiasNanos": "-12" + now + "000000", "BiasNanos": "0.0", "HardwareClockDiscontinuityCount": "0",
				"Svid": itoa(svid), "TimeOffsetNanos": "0.0", "State": "16431", "Cn0DbHz": ftoa(s.between(20, 45), 1),
				"PseudorangeRateMetersPerSecond": ftoa(s.normal(0, 400), 2), "AccumulatedDeltaRangeState": "25",
				"CarrierFrequencyHz": "1575420030.0", "MultipathIndicator": "0", "ConstellationType": "1", "CodeType": "C",
				"RawPseudorangeMeters": ftoa(s.between(2e7, 2.5e7), 2), "SignalType": "GPS_L1",
				"SvElevationDegrees": ftoa(s.between(10, 90), 1), "SvAzimuthDegrees": ftoa(s.between(0, 360), 1),
				"WlsPositionXEcefMeters": ftoa(x, 3), "WlsPositionYEcefMeters": ftoa(y, 3), "WlsPositionZEcefMeters": ftoa(z, 3),
			}
			row := make([]string, len(gnssSmartphone2022))
			for j, name := range gnssSmartphone2022 {
				row[j] = known[name]
			}
			gnss = append(gnss, row)
		}
		if k < 4 {
			imu = append(imu, []string{s.one("UncalAccel", "UncalGyro", "UncalMag"), now, itoa(k) + "00000000", ftoa(s.normal(0, 1), 3), ftoa(s.normal(0, 1), 3), ftoa(s.normal(9.8, 1), 3), "0.0", "0.0", "0.0"})
		}
		truth = append(truth, []string{"Fix", "GT", ftoa(latitude, 13), ftoa(longitudes[k], 12), "33.2", ftoa(s.between(0, 20), 1), "0.1", ftoa(s.between(0, 360), 1), now})
	}
	s.csv(folder+"/device_gnss.csv", gnssSmartphone2022, gnss)
	s.csv(folder+"/device_imu.csv", strings.Fields("MessageType utcTimeMillis elapsedRealtimeNanos MeasurementX MeasurementY MeasurementZ BiasX BiasY BiasZ"), imu)
	s.file(folder+"/supplemental/gnss_rinex.20o", []byte("     3.03           OBSERVATION DATA    M: MIXED            RINEX VERSION / TYPE\n                                                            END OF HEADER\n"))
	if strings.HasPrefix(folder, "train/") {
		s.csv(folder+"/ground_truth.csv", strings.Fields("MessageType Provider LatitudeDegrees LongitudeDegrees AltitudeMeters SpeedMps AccuracyMeters BearingDegrees UnixTimeMillis"), truth)
	}
}

// drawSmartphone2022 draws drives: the true position is the phone's estimate less an error.
func drawSmartphone2022(s *set) {
	drives := strings.Fields(`2020-05-15-US-MTV-1 2020-05-15-US-MTV-1-b 2020-05-21-US-SJC-2 2020-06-04-US-SJC-1
2020-07-08-US-MTV-1 2020-08-04-US-OAK-3 2020-12-10-US-SJC-1 2021-1-4-US-MTV-2 2021-01-04-US-MTV-1
2021-03-16-US-RWC-2 2021-04-22-US-LAX-1 2021-07-19-US-MTV-1 2021-08-24-US-SVL-1 2021-12-09-US-LAX-2`)
	for n, drive := range append(drives, "2022-04-25-US-OAK-2") {
		folder := "train/" + drive
		if n == len(drives) {
			folder = "test/" + drive
		}
		latitude, longitude := s.between(37.2, 37.8), s.between(-122.4, -121.8)
		if strings.Contains(drive, "LAX") {
			latitude, longitude = s.between(33.9, 34.1), s.between(-118.4, -118.1)
		}
		var latitudes, longitudes []float64
		north, east := s.normal(0, 1e-4), s.normal(0, 1e-4)
		for k := range 10 + s.IntN(6) {
			latitudes = append(latitudes, latitude+north*float64(k))
			longitudes = append(longitudes, longitude+east*float64(k))
		}
		start := 1589494000000 + 86400000*30*n + 442
		phones := []string{"GooglePixel4", "GooglePixel4XL", "SamsungGalaxyS20Ultra", "XiaomiMi8", "GooglePixel5"}
		s.Shuffle(len(phones), func(i, j int) { phones[i], phones[j] = phones[j], phones[i] })
		for _, phone := range phones[:1+s.IntN(2)] {
			drawPhoneSmartphone2022(s, folder+"/"+phone, start, latitudes, longitudes)
		}
		if n%4 == 0 {
			s.file(folder+"/"+phones[0]+"/supplemental/span_log.nmea", []byte("$GPGGA,000000.00,3725.0,N,12205.0,W,4,10,1.0,33.2,M,,M,,*47\n"))
		}
	}
	s.csv("metadata/accumulated_delta_range_state_bit_map.csv", []string{"state", "value"}, [][]string{{"ADR_STATE_VALID", "1"}, {"ADR_STATE_RESET", "2"}, {"ADR_STATE_CYCLE_SLIP", "4"}})
	s.csv("metadata/raw_state_bit_map.csv", []string{"state", "value"}, [][]string{{"STATE_CODE_LOCK", "1"}, {"STATE_BIT_SYNC", "2"}})
	s.csv("sample_submission.csv", []string{"tripId", "UnixTimeMillis", "LatitudeDegrees", "LongitudeDegrees"}, [][]string{{"2022-04-25-US-OAK-2-XiaomiMi8", "1650915306442", "37.904611315634504", "-86.48107806249548"}})
}

// estimatesSmartphone2022 returns the latitudes and longitudes that a phone's log
// estimates, by time.
func estimatesSmartphone2022(l *lesson, folder string) map[string][2]float64 {
	const e2 = 6.69437999014e-3
	log, out := l.rows(folder+"/device_gnss.csv"), map[string][2]float64{}
	for i := range log.len() {
		x, y, z := log.number(i, "WlsPositionXEcefMeters"), log.number(i, "WlsPositionYEcefMeters"), log.number(i, "WlsPositionZEcefMeters")
		latitude := math.Atan2(z, math.Hypot(x, y)*(1-e2))
		out[log.get(i, "utcTimeMillis")] = [2]float64{latitude * 180 / math.Pi, math.Atan2(y, x) * 180 / math.Pi}
	}
	return out
}

// learnSmartphone2022 corrects the phones' estimates by their mean error.
func learnSmartphone2022(l *lesson) {
	truths, err := fs.Glob(l.public, "train/*/*/ground_truth.csv")
	must(err)
	var north, east []float64
	for _, name := range truths {
		truth, estimates := l.rows(name), estimatesSmartphone2022(l, path.Dir(name))
		for i := range truth.len() {
			at := estimates[truth.get(i, "UnixTimeMillis")]
			north = append(north, truth.number(i, "LatitudeDegrees")-at[0])
			east = append(east, truth.number(i, "LongitudeDegrees")-at[1])
		}
	}
	trips := map[string]map[string][2]float64{}
	phones, err := fs.Glob(l.public, "test/*/*")
	must(err)
	for _, folder := range phones {
		trips[path.Base(path.Dir(folder))+"-"+path.Base(folder)] = estimatesSmartphone2022(l, folder)
	}
	l.submitLike("sample_submission.csv", []string{"LatitudeDegrees", "LongitudeDegrees"}, func(r *rows, i int) []string {
		at := trips[r.get(i, "tripId")][r.get(i, "UnixTimeMillis")]
		return []string{ftoa(at[0]+mean(north), 9), ftoa(at[1]+mean(east), 9)}
	})
}
