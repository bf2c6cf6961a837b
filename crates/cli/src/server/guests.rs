//! Streams of ground stations to vehicles.

use super::Server;
use crate::failure::Failure;
use crate::route::Route;
use proto::bearer::Bearer;
use proto::v1::guests_client::GuestsClient;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;

pub type GuestClient = GuestsClient<InterceptedService<Channel, Bearer>>;

/// Bytes of one vehicle under way to us, a few seconds: older frames are useless, and dropped before they are sent.
const STREAM_WINDOW_BYTES: u32 = 65_535;

impl Server {
    pub async fn connect_for_guests(route: &Route) -> Result<Self, Failure> {
        Self::connect_with(route, Some(STREAM_WINDOW_BYTES)).await
    }

    pub fn guests(&self) -> GuestClient {
        GuestsClient::new(self.channel.clone())
    }

    /// Forgets an earlier command's proof, which may be invalid; returns whether there was one.
    pub fn forget_stored(&mut self) -> bool {
        self.stored.take().map(|stored| stored.forget()).is_some()
    }
}
