the office
