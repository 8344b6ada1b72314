-- The head of mutex_acquire.lua. It takes a mutex that was released lately, which is the usual case in a rush, with the
-- fewest calls. All other cases are left to the rest of the script, with the values read here. The functions that the
-- rest needs are defined there, because defining them costs as much as a call.
--
-- Tokens are compared as text. That is safe: Redis's time in microseconds has sixteen digits until the year 2286, and
-- "0", from a client that has seen no token, sorts below. The time becomes the next token if the high water already
-- covers it (token.lua).

local found = redis.call('MGET', KEYS[1], KEYS[3], KEYS[2])
local state, high = found[1], found[3]
if state and high and not found[2] and string.byte(state) == 45 then -- "-"
  local now = redis.call('TIME')
  local token = now[1] .. string.sub('00000', #now[2]) .. now[2]
  if token > string.sub(state, 2, 17) and token > ARGV[3] and token <= high then
    redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. token .. string.sub(state, 18) .. ARGV[4], 'PX', ARGV[2])
    return token
  end
end

