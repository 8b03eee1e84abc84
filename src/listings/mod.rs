//! Listings: adverts in, one property out.
