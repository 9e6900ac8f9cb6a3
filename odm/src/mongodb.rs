//! MongoDB through its official driver.
