ALTER TABLE orders ADD COLUMN form_key VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL;
CREATE UNIQUE INDEX orders_once ON orders (visitor, form_key);
CREATE UNIQUE INDEX coupons_once ON coupons (visitor, campaign);
CREATE UNIQUE INDEX points_once ON points (trade_no);
